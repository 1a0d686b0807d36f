/*
 * What this kernel and this process can do: each thing that attaching depends on, present or
 * missing, what follows from that and how to mend it.
 */
#ifndef KERNEL_DOCTOR_H
#define KERNEL_DOCTOR_H

#include <stdbool.h>

#include "base/arena.h"
#include "kernel/tier.h"

enum finding_state {
	FINDING_OK,	 /* present */
	FINDING_MISSING, /* not there, and something follows from it */
	FINDING_INFO,	 /* a fact to know when reading the others */
};

struct finding {
	const char *name;
	enum finding_state state;
	const char *detail;  /* what was seen */
	const char *follows; /* what follows from it; "" when nothing */
	const char *mend;    /* how to mend it; "" when there is nothing to do */
};

struct doctor {
	struct arena arena;
	struct finding *findings; /* n_findings, in the arena */
	size_t n_findings;
	bool able;	/* some tier works */
	enum tier tier; /* the first that does, which is the one that serve takes */
};

/* Examine, by trying every tier on a function of our own. The caller calls doctor_fini. */
void doctor_examine(struct doctor *doctor);
void doctor_fini(struct doctor *doctor);

/* One more, whose texts are constant or in the doctor's arena. */
void doctor_add(struct doctor *doctor, struct finding finding);

/* "ok", "missing", "info". */
const char *finding_state_name(enum finding_state state);

#endif
