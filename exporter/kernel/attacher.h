/* The attacher itself, for those that are part of it: attach.c (its life) and attaching.c (plans).
 */
#ifndef KERNEL_ATTACHER_H
#define KERNEL_ATTACHER_H

#include <stdatomic.h>

#include "kernel/attach.h"
#include "kernel/load.h"
#include "kernel/mapping.h"
#include "kernel/opened.h"

struct attach {
	struct attach_options options;
	struct loaded loaded;
	struct opened opened;
	struct mapping *mapping; /* NULL: the kernel cannot tell */
	atomic_bool keeps_calls; /* some probe has its open calls in the map `calls` */
	uint32_t n_series;	 /* that probes have: the maps have room for a few of our own too */
};

/* A series, of which no more than limits.series are given out; or -errno with `err`. */
int attacher_add_series(struct attach *attach, struct buckets buckets, struct err *err);

#endif
