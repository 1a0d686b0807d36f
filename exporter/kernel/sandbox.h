/*
 * Some kernels carry out the return of a probed function by a system call of its own
 * (uretprobe(2), from 6.11), which the seccomp filter of a sandboxed target does not know and
 * punishes with death; later ones exempt it. Which kind this is, is found by sacrificing a child.
 */
#ifndef KERNEL_SANDBOX_H
#define KERNEL_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

struct sandbox {
	pid_t pid; /* the child: link the probe to it; 0 when it could not be made */
	int go;	   /* internal */
};

/*
 * Fork a child that will, when told, allow itself nothing but to exit, and call `function`. Only
 * while this process has one thread.
 */
struct sandbox sandbox_new(void (*function)(void));
/* Let it run and see how it ends: true when it survived (or could not be made). */
bool sandbox_survives(struct sandbox *sandbox);

#endif
