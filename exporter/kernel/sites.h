/*
 * The instructions that entry probes sit on. Several probes may share one (other buckets, another
 * process); the programs then have to know which belong together, and tell them apart.
 */
#ifndef KERNEL_SITES_H
#define KERNEL_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "model/plan.h"

struct site_entry {
	uint64_t dev, ino, offset;
	uint32_t members; /* a bit for each that is taken */
};

/* Zeroed is empty. */
struct sites {
	struct site_entry *at; /* in the order of their numbers */
	size_t n, room;
	uint32_t *index; /* hash → number + 1 */
	size_t n_index;	 /* a power of two, or 0 */
};

/* Take a place on an instruction: 0, or -ENOSPC when UP_SITE_PROBES are there already. */
int sites_take(struct sites *sites, const struct plan_file *file, uint64_t offset, uint32_t *number,
	       uint32_t *member);
void sites_release(struct sites *sites, uint32_t number, uint32_t member);
void sites_fini(struct sites *sites);

#endif
