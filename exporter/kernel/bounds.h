/* The bounds tables in force: lists of bucket bounds, each laid out once for all series that have
 * it. */
#ifndef KERNEL_BOUNDS_H
#define KERNEL_BOUNDS_H

#include "bpf/contract.h"
#include "kernel/object.h"
#include "model/spec.h"

struct bounds_table {
	struct buckets buckets; /* a copy of its own */
	uint32_t n_cells, slots;
	uint32_t users; /* series that have it; 0: may be given to other buckets */
};

/* Zeroed is empty. */
struct bounds {
	struct bounds_table tables[UP_BOUNDS_TABLES + 1]; /* one is our own probes' */
	uint32_t n;
};

/*
 * The number of the table with these buckets, which is written to the kernel's map if it is new; or
 * -errno with `err` (-ENOSPC with REASON_LIMIT). The caller counts itself among its users.
 */
int bounds_find(struct bounds *bounds, const struct object *object, struct buckets buckets,
		struct err *err);

void bounds_fini(struct bounds *bounds);

#endif
