/*
 * Choosing a tier: the programs and maps of the best one that works, found by trying.
 */
#ifndef KERNEL_LOAD_H
#define KERNEL_LOAD_H

#include "kernel/attach.h"
#include "kernel/feature.h"
#include "kernel/maps.h"
#include "kernel/object.h"
#include "kernel/select.h"

enum { LOAD_HOOKS = 4 };

struct loaded {
	struct object object;
	struct maps *maps; /* owned */
	struct feature feature;
	struct select select;
	int hook_fds[LOAD_HOOKS]; /* tracepoints on threads' and processes' lives; -1 when closed */
};

/* Try the forms of the wanted tier, best first. On failure `err` says what is in the way. */
int load_open(const struct attach_options *options, struct loaded *loaded, struct err *err);
void load_close(struct loaded *loaded);

#endif
