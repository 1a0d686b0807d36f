/* Groups: the probes of a plan that go into one link set. */
#ifndef KERNEL_GROUP_H
#define KERNEL_GROUP_H

#include "model/plan.h"

/* Same file, same process, same need of a return probe. The three arrays go in step. */
struct group {
	const struct plan_file *file;
	pid_t pid;
	bool with_return;
	size_t n, room;
	size_t *probes; /* index into the plan */
	uint64_t *offsets, *cookies;
};

struct group_list { /* grows with vec_push */
	struct group *at;
	size_t n, room;
};

/* Put a probe, which feeds `series`, into its group. */
void group_add(struct group_list *groups, const struct plan_probe *probe, size_t index, int series);
void group_list_fini(struct group_list *groups);

#endif
