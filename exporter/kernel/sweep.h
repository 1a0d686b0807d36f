/*
 * After ended threads and processes: calls kept in the map `calls` that no exit will ever close.
 * The programs leave word of the ends (bpf/calls.bpf.h); here the calls are taken out and counted
 * as abandoned. A word that was lost for want of room is made good by the end of the process.
 */
#ifndef KERNEL_SWEEP_H
#define KERNEL_SWEEP_H

#include "kernel/maps.h"
#include "kernel/object.h"

/* One sweep; cheap (two system calls) when no thread has ended. The number of calls abandoned. */
unsigned sweep_calls(const struct object *object, struct maps *maps);

/*
 * The `n` probes are linked no more: account for what is open of the series they feed. Returns how
 * many were abandoned.
 */
unsigned sweep_detached(const struct object *object, struct maps *maps, const int *probes,
			size_t n);

#endif
