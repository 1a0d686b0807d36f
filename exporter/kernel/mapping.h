/*
 * What the kernel knows of a file that is open here: which file it really is (of an overlay, the
 * one in the layer that holds it), and whether anybody maps it. Without looking through /proc.
 */
#ifndef KERNEL_MAPPING_H
#define KERNEL_MAPPING_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct mapping;

struct mapping_state {
	dev_t dev; /* of the file that holds the data */
	ino_t ino;
	bool by_others; /* some process maps a part of it */
};

/* 0, or -errno with `err` on kernels that cannot tell (before 5.17). */
int mapping_open(struct mapping **mapping, struct err *err);
void mapping_close(struct mapping *mapping);

/* Look at the file `fd`, which is mapped for a moment. 0 or -errno. */
int mapping_look(const struct mapping *mapping, int fd, struct mapping_state *state);

#endif
