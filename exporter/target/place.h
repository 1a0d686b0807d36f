/*
 * Places that a config gives as numbers: which instruction of which function is there, and whether
 * a probe may be put on it. What begins where is known from symbols and from frame information,
 * which stripped files keep.
 */
#ifndef TARGET_PLACE_H
#define TARGET_PLACE_H

#include "base/arena.h"
#include "model/spec.h"
#include "target/functions.h"
#include "target/inspect.h"

/*
 * Settle `wanted` for a function that is given BY_OFFSET or BY_ADDRESS, in the file of
 * `functions`: it is found, or it has its reason and detail.
 */
void place_settle(const struct functions *functions, const struct spec_function *function,
		  struct inspect_wanted *wanted, struct arena *arena);

#endif
