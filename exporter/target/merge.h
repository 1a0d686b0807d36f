/*
 * One function, one series: what several entries of a target find once, under labels that differ.
 */
#ifndef TARGET_MERGE_H
#define TARGET_MERGE_H

#include "base/arena.h"
#include "target/expand.h"

/*
 * Of the functions that the entries of one target have found (list[0..n), in the order of the
 * config), leave out each that an earlier entry has too, if a pattern is involved: the entry's
 * `n` shrinks, to 0 if need be, and the one that stays is warned. Then give every match its label
 * and sort each pattern's by it: the demangled name; the mangled one where two would be the same;
 * with its source file or its offset where that does not help either.
 */
void merge_target(struct expansion *const *list, size_t n, struct arena *arena);

#endif
