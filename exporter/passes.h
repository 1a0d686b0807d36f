/*
 * When to look at all processes again, and for which filters. Starts, forks, ends and moves between
 * cgroups are told by the kernel; a pass is for what nothing tells of.
 */
#ifndef EXPORTER_PASSES_H
#define EXPORTER_PASSES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "model/spec.h"

/* By what may have changed; each is for the filters of those before it as well. */
enum pass {
	PASS_QUICK,    /* a process changes its user or its name */
	PASS_CHANGING, /* its arguments, the names of pods, files in containers */
	PASS_ALL,      /* nothing that is known of */
	PASSES,
	PASS_NONE = PASSES,
};

struct passes {
	time_t at[PASSES];	  /* when the last one was made */
	time_t put_off_s[PASSES]; /* so long at least, for what it cost */
};

/*
 * The first of the passes that are for a filter. `knows_others`: its rule has inodes which are not
 * at its path, and which may be given to any other file some day.
 */
enum pass passes_of(const struct spec_process *spec, bool knows_others);

/* What is due, at a time in seconds. */
enum pass passes_due(const struct passes *passes, time_t now);
/* Since when there was none of a kind, in seconds. */
time_t passes_age(const struct passes *passes, enum pass pass, time_t now);
/*
 * One was made, and took so much of a CPU. Where there are many processes, the next that can wait
 * does, so that all of them take no more than a small part of one.
 */
void passes_note(struct passes *passes, enum pass pass, time_t now, uint64_t cpu_ns);

#endif
