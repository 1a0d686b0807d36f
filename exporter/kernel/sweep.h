/*
 * After ended threads: calls kept in the map `calls` that no exit will ever close, because the
 * thread that entered them ended or replaced its image. The programs leave word in `ended`; here
 * the calls are taken out and counted as abandoned.
 */
#ifndef KERNEL_SWEEP_H
#define KERNEL_SWEEP_H

#include "kernel/maps.h"
#include "kernel/object.h"

/* One sweep; cheap (one system call) when no thread has ended. The number of calls abandoned. */
unsigned sweep_calls(const struct object *object, struct maps *maps);

#endif
