/*
 * What a process's mappings tell of the runtime in it: whether functions are generated while it
 * runs, and whether something switches stacks.
 */
#ifndef TARGET_RUNTIME_H
#define TARGET_RUNTIME_H

#include <sys/types.h>

#include "base/arena.h"

/*
 * Why `function`, which its file does not have, is one that process `pid` generates: the
 * process's perf map lists it, or the process is of a runtime that generates code. With the way
 * out. NULL when nothing shows that.
 */
const char *runtime_generates(pid_t pid, const char *function, struct arena *arena);

/* "process 12 maps libboost_context.so.1, which switches stacks", or NULL. */
const char *runtime_switches(pid_t pid, struct arena *arena);

#endif
