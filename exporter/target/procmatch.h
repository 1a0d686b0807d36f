/*
 * Whether a process is one of those that a filter selects: all of its conditions, the cheap ones
 * first. `children` is not decided here, since it takes a look at all processes: procpass.h.
 */
#ifndef TARGET_PROCMATCH_H
#define TARGET_PROCMATCH_H

#include <stdbool.h>

#include "model/spec.h"
#include "target/podnames.h"
#include "target/procview.h"

struct procmatch;

/* Both are borrowed. Without `pods`, pods have no names, only their uids. */
struct procmatch *procmatch_new(const struct spec_process *spec, struct podnames *pods);
void procmatch_free(struct procmatch *match);

/* Another spec that says the same. */
void procmatch_move(struct procmatch *match, const struct spec_process *spec);

const struct spec_process *procmatch_spec(const struct procmatch *match);

/*
 * Read the file of `pidfile` again: its first line, a number. While it is absent, or says anything
 * else, nothing matches. And see where a plain `exe` leads by symbolic links: processes that
 * have our root directory match by that too, also when the links lead elsewhere later.
 * procmatch_new does both for the first time.
 */
void procmatch_refresh(struct procmatch *match);

/* The process that `pid`, or else `pidfile`, names now; 0: none, or the filter has neither. */
pid_t procmatch_pid(const struct procmatch *match);

/* Whether it is a process that can be measured (procview_is_process) and is selected. */
bool procmatch_matches(struct procmatch *match, struct procview *view);

/*
 * Which of a filter's conditions the kernel itself can decide when a program is started: by the
 * inode of the executable, by the name that it has then, by the ids of the cgroups it is in. They
 * must be plain text for that. `exe` is a path in the mount namespace of the process, so that the
 * same path may be several inodes.
 */
enum procmatch_part {
	PROCMATCH_EXE = 1,
	PROCMATCH_COMM = 2,
	PROCMATCH_CGROUP = 4,
	PROCMATCH_OTHERS = 8, /* there are conditions besides, which must be looked at here */
};
unsigned procmatch_kernel_parts(const struct spec_process *spec);

#endif
