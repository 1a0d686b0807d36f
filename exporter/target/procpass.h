/*
 * One pass over all processes for all filters: each process is looked at once, and as little as
 * the filters allow.
 *
 * With `children`, a filter selects the descendants of what matches too. Who was selected so stays
 * selected for life, though the processes between end and leave it to init: a pass remembers that
 * for the next one. A process is known by its pid and the time of its start, so that one with the
 * same pid later is another.
 */
#ifndef TARGET_PROCPASS_H
#define TARGET_PROCPASS_H

#include <stdbool.h>
#include <stddef.h>

#include "target/procmatch.h"

struct procpass;

/* The filters are borrowed, in an array that is too. */
struct procpass *procpass_new(struct procmatch *const *filters, size_t n);
void procpass_free(struct procpass *pass);

/*
 * Filter number `filter` selects the process; `inherited`: not by itself, but as a descendant.
 * Called once at most for a filter and a process.
 */
typedef void procpass_visit(void *context, size_t filter, struct procview *view, bool inherited);

/*
 * Look at all processes in `proc_fd`, a descriptor of /proc, after reading pidfiles again; not for
 * filters that are `skipped`, by their numbers (NULL: none). 0, or -errno when the folder cannot be
 * read: then nothing is forgotten.
 */
int procpass_run(struct procpass *pass, int proc_fd, const bool *skipped, procpass_visit *visit,
		 void *context);

#endif
