/* The nearest word to a misspelt one. */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include <stddef.h>

/*
 * Edits (insert, delete, replace, swap of neighbours; letter case is free) between two words;
 * SUGGEST_FAR for words too long or too different to be the same one misspelt.
 */
#define SUGGEST_FAR 1000
int suggest_distance(const char *written, const char *known);

/* Index of the nearest of `n` words, of equals the first, or -1 when none is near. */
int suggest_nearest(const char *written, const char *const *known, size_t n);

#endif
