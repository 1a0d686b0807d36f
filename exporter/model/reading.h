/*
 * A reading: one series' counters and cells, summed over the shards, as kernel/maps.c takes them
 * and collect/ turns them into metrics. All values only ever grow.
 */
#ifndef MODEL_READING_H
#define MODEL_READING_H

#include <stdint.h>

#include "bpf/contract.h"

struct reading {
	uint64_t sum_ns;
	uint64_t entries;
	uint64_t abandoned[UP_ABANDONED_REASONS];
	uint64_t lost[UP_LOST_REASONS];
	uint64_t unmatched; /* USDT pairs: ends without a start */
	uint64_t ended;	    /* observed by series of label sets that are no more: not in `cells` */
	uint64_t
		cells[UP_MAX_EDGES + 1]; /* as struct up_bounds has the edges; n_edges + 1 in use */
};

/*
 * Calls entered and not yet accounted for. The kernel side reads `entries` last, so the rest cannot
 * exceed it; if it ever did, nothing is in flight.
 */
uint64_t reading_in_flight(const struct reading *reading);

/* Calls that are in the cells. */
uint64_t reading_observed(const struct reading *reading);

/* Add another reading of the same layout. */
void reading_add(struct reading *sum, const struct reading *reading);

#endif
