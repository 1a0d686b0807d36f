/* All processes, one after another. */
#ifndef TARGET_PROCS_H
#define TARGET_PROCS_H

#include "target/procview.h"

/* Gets a glance at each process, which is closed behind it; false: no more are wanted. */
typedef bool procs_visit(void *context, struct procview *view);

/* `proc_fd` is a descriptor of /proc, or of a folder that looks like it. 0 or -errno. */
int procs_each(int proc_fd, procs_visit *visit, void *context);

#endif
