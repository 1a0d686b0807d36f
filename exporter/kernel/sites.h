/*
 * The instructions that entry probes sit on. Several probes may share one (other buckets, another
 * process); the programs then have to know which belong together, and tell them apart.
 */
#ifndef KERNEL_SITES_H
#define KERNEL_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "model/plan.h"

/* An instruction of a file. */
struct sites_place {
	uint64_t dev, ino, offset;
};

struct site_entry {
	struct sites_place place;
	uint32_t number;  /* never given to another place: open calls may still name it */
	uint32_t members; /* a bit for each that is taken; 0: no entry */
};

/* Zeroed is empty. */
struct sites {
	struct site_entry *at; /* a hash by place, of `room`, a power of two, or 0 */
	size_t n, room;
	uint32_t last_number;
};

struct sites_place sites_place(const struct plan_file *file, uint64_t offset);

/* Take a place on an instruction: 0, or -ENOSPC when UP_SITE_PROBES are there already. */
int sites_take(struct sites *sites, struct sites_place place, uint32_t *number, uint32_t *member);
void sites_release(struct sites *sites, struct sites_place place, uint32_t member);
void sites_fini(struct sites *sites);

#endif
