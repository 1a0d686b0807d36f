/*
 * Features are found by trying: a loaded object is linked to a function of our own executable,
 * the function is called, and the counts must be exact.
 */
#ifndef KERNEL_FEATURE_H
#define KERNEL_FEATURE_H

#include <stdbool.h>

#include "base/err.h"
#include "kernel/maps.h"
#include "kernel/object.h"

struct feature {
	/* The kernel's pid filter covers all threads of the process (6.10; before, only one). */
	bool pid_filter;
	/* A return probe does not trip the seccomp filter of its target (see sandbox.h). */
	bool sandbox_safe;
};

/* Try `object` with one series of `maps`. -errno with `err` when it does not work as it should. */
int feature_try(const struct object *object, struct maps *maps, struct feature *feature,
		struct err *err);

#endif
