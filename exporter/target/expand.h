/*
 * From what a config writes to the functions it means: a pattern becomes every function whose name
 * matches, a place becomes the function or the instruction that is there.
 */
#ifndef TARGET_EXPAND_H
#define TARGET_EXPAND_H

#include <stddef.h>

#include "base/arena.h"
#include "model/plan.h"
#include "target/inspect.h"

/* One configured function; `wanted` is out, in the arena, and has at least one element. */
struct expansion {
	const struct spec_target *target;
	const struct spec_function *function;
	struct inspect_wanted *wanted;
	size_t n;
};

/*
 * Expand each of `list`, functions of `file`, whose fd is open. What was found is settled and
 * needs no looking up; the rest (plain symbols, patterns without a match, a file that cannot be
 * read) is left for inspect_file to find or to explain.
 *
 * A pattern matches functions that are defined in the file's code, by their mangled or demangled
 * names, with or without parameters; not .cold parts, IFUNCs and versions other than the default.
 * Names at one place are one function: the shortest is taken.
 */
void expand_functions(const struct plan_file *file, struct expansion *const *list, size_t n,
		      struct arena *arena);

#endif
