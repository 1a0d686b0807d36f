/* Glob matching that goes back to the last `*` only, which is enough: the first place where the
 * part before it fits is as good as any later one. */
#include "base/glob.h"

#include <string.h>

/* The end of the set that begins at `[`: its `]`, or NULL. One that stands first is a member. */
static const char *set_end(const char *set)
{
	const char *at = set + 1;

	at += *at == '!' || *at == '^';
	return *at ? strchr(at + 1, ']') : NULL;
}

static bool set_holds(const char *set, const char *end, unsigned char c)
{
	bool negated = set[1] == '!' || set[1] == '^', found = false;

	for (const char *at = set + 1 + negated; at < end; at++) {
		unsigned char low = (unsigned char)*at, high = low;
		if (at + 2 < end && at[1] == '-') {
			high = (unsigned char)at[2];
			at += 2;
		}
		found |= low <= c && c <= high;
	}
	return found != negated;
}

/* Match one character; what follows it in the pattern, or NULL when it does not match. */
static const char *step(const char *pattern, unsigned char c)
{
	const char *end;

	switch (*pattern) {
	case '\0':
		return NULL;
	case '?':
		return pattern + 1;
	case '[':
		end = set_end(pattern);
		return end && set_holds(pattern, end, c) ? end + 1 : NULL;
	case '\\':
		pattern++;
		break;
	}
	return *pattern && (unsigned char)*pattern == c ? pattern + 1 : NULL;
}

bool glob_matches(const char *pattern, const char *text, size_t length)
{
	const char *end = text + length, *star = NULL, *star_text = NULL;

	while (text < end) {
		const char *next = NULL;
		if (*pattern == '*') {
			star = ++pattern;
			star_text = text;
			continue;
		}
		next = step(pattern, (unsigned char)*text);
		if (next) {
			pattern = next;
			text++;
		} else if (star) { /* the `*` takes one character more */
			pattern = star;
			text = ++star_text;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

bool glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

bool glob_matches_or_is(const char *pattern, const char *text, size_t length)
{
	if (glob_is_pattern(pattern))
		return glob_matches(pattern, text, length);
	return strlen(pattern) == length && !memcmp(pattern, text, length);
}

size_t glob_least_length(const char *pattern)
{
	size_t least = 0;

	if (!glob_is_pattern(pattern))
		return strlen(pattern);
	while (*pattern) {
		const char *end = *pattern == '[' ? set_end(pattern) : NULL;
		least += *pattern != '*';
		if (*pattern == '\\' && pattern[1])
			pattern++;
		pattern = end ? end + 1 : pattern + 1;
	}
	return least;
}

const char *glob_fault(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '\\') {
			if (!*++pattern)
				return "ends in a `\\` with nothing behind it";
		} else if (*pattern == '[') {
			pattern = set_end(pattern);
			if (!pattern)
				return "has a `[` without a `]`";
		}
	}
	return NULL;
}
