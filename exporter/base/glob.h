/*
 * Patterns over names, as a shell has them: `*` any characters, `?` one, `[a-z]` one of a set,
 * `[!a-z]` one that is not in it, `\` before a character: that character. Names hold `/` and `.`
 * like any other. Bytes are compared. Matching takes at most the product of the two lengths,
 * whatever the pattern: fnmatch(3) makes no such promise.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of `text` matches; a faulty pattern (see glob_fault) matches nothing. */
bool glob_matches(const char *pattern, const char *text, size_t length);

/* Whether the text has wildcards (`*`, `?`, `[`) at all. */
bool glob_is_pattern(const char *text);

/* As glob_matches, but what has no wildcards is compared as it stands, `\` and all. */
bool glob_matches_or_is(const char *pattern, const char *text, size_t length);

/* The length in bytes of the shortest text that matches; without wildcards, the text's own. */
size_t glob_least_length(const char *pattern);

/* What is wrong with a pattern ("has a `[` without a `]`"), static; NULL when nothing is. */
const char *glob_fault(const char *pattern);

#endif
