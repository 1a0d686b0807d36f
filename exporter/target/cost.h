/*
 * What probes in a file cost the machine when no process is named: every process that maps the
 * file pays, wanted or not.
 */
#ifndef TARGET_COST_H
#define TARGET_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/plan.h"

/*
 * Whether probing `file` without a process filter is too dear: it is the C library or the program
 * interpreter, or a shared library that more than `most_programs` distinct programs map now. The
 * answer is a text that says what it costs, or NULL when it is not; a program is never too dear,
 * as its processes are the target.
 */
const char *cost_of_host(const struct plan_file *file, bool is_library, const char *soname,
			 uint32_t most_programs, struct arena *arena);

/* The ways out that a refusal names. */
extern const char cost_ways_out[];

#endif
