/* Linking a group: what the kernel takes stays, what it refuses is told. */
#ifndef KERNEL_LINKING_H
#define KERNEL_LINKING_H

#include <stdatomic.h>

#include "kernel/attach.h"
#include "kernel/group.h"
#include "kernel/linkset.h"
#include "kernel/load.h"

struct linking {
	const struct loaded *loaded;
	struct group *group;
	struct attach_result *results; /* of the plan: refused probes get their reason */
	size_t *perf_room;	       /* functions that the perf tier may still take */
	const atomic_bool *stop;       /* when it becomes true, no more is linked */
};

/* Links of a group; closed by linking_close. */
struct linked {
	struct linkset entries, exits;
};

/* How the entries of a group are linked. */
enum link_kind linking_kind(enum exit_strategy strategy);

/*
 * Link the group's probes, whose records must be disabled. What is refused is dropped from the
 * group's lists; what is left there is linked. Without anything left there is nothing to close.
 * A group with links per process is linked to ourselves, to learn what is refused.
 */
void linking_open(const struct linking *linking, struct linked *linked);

#endif
