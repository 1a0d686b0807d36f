/* Attaching a plan: what attach_plan() does. */
#ifndef KERNEL_ATTACHING_H
#define KERNEL_ATTACHING_H

#include "kernel/attacher.h"

void attaching_run(struct attach *attach, const struct plan *plan, struct attach_result *results,
		   const struct attach_placed *placed);

#endif
