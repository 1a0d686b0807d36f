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
 * The probes with these `n` entries are not linked any more: account for what is open of them.
 * Returns how many calls were abandoned.
 */
unsigned sweep_detached(const struct object *object, struct maps *maps, const int *entries,
			size_t n);

#endif
