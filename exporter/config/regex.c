/*
 * Expressions are weighed before they are compiled: regcomp(3) writes repetitions out, so that
 * `((a{99}){99}){99}` takes a million states and `((a+)+)+` doubles with each `+`. Back references
 * are refused because matching one may take time that is exponential in its length.
 */
#include "config/regex.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  32
#define MAX_WEIGHT 4096 /* single characters after writing out: about a megabyte */

/* What is between a `(` and its `)` so far; `last` is the part that a repetition applies to. */
struct group {
	unsigned long before, last;
};

struct scale {
	struct group groups[MAX_DEPTH];
	size_t depth;
};

static void add(struct scale *scale, unsigned long weight)
{
	struct group *group = &scale->groups[scale->depth];

	group->before += group->last;
	group->last = weight;
}

/* Whether it still fits. Each factor is small, so that nothing overflows. */
static bool repeat(struct scale *scale, unsigned long times)
{
	struct group *group = &scale->groups[scale->depth];

	group->last = (group->last + 1) * (times + 1);
	return group->before + group->last <= MAX_WEIGHT;
}

static bool close_group(struct scale *scale)
{
	if (!scale->depth)
		return true; /* a `)` without a `(`: regcomp has its own view */
	const struct group *group = &scale->groups[scale->depth--];
	unsigned long weight = group->before + group->last + 1;
	add(scale, weight);
	return weight <= MAX_WEIGHT;
}

/* The `]` of the set that begins at `[`, or the end of the text. */
static const char *set_end(const char *at)
{
	at += 1 + (at[1] == '^');
	if (*at == ']')
		at++;
	while (*at && *at != ']') {
		const char *close = NULL;
		if (*at == '[' && at[1] && strchr(".:=", at[1])) {
			const char end[] = {at[1], ']', '\0'};
			close = strstr(at + 2, end);
		}
		at = close ? close + 2 : at + 1;
	}
	return *at ? at : at - 1;
}

/* `{m,n}`: the larger of both, or more than fits anyhow. */
static unsigned long interval(const char *at, const char **end)
{
	char *rest;
	unsigned long low = strtoul(at + 1, &rest, 10), high = 0;

	if (*rest == ',')
		high = strtoul(rest + 1, &rest, 10);
	*end = *rest == '}' ? rest : at;
	unsigned long most = low > high ? low : high;
	return most < MAX_WEIGHT ? most : MAX_WEIGHT;
}

static const char *weigh(const char *at)
{
	struct scale scale = {.depth = 0};
	bool fits = true;

	for (; *at && fits; at++)
		switch (*at) {
		case '\\':
			if (isdigit((unsigned char)at[1]))
				return "has a back reference (`\\1`), which is not supported";
			at += at[1] != '\0';
			add(&scale, 1);
			break;
		case '[':
			at = set_end(at);
			add(&scale, 1);
			break;
		case '(':
			if (scale.depth + 1 == MAX_DEPTH)
				return "is nested too deeply";
			scale.groups[++scale.depth] = (struct group){0};
			break;
		case ')':
			fits = close_group(&scale);
			break;
		case '*':
		case '?':
			fits = repeat(&scale, 0);
			break;
		case '+':
			fits = repeat(&scale, 1);
			break;
		case '{':
			fits = repeat(&scale, interval(at, &at));
			break;
		default:
			add(&scale, 1);
		}
	return fits ? NULL : "repeats too much";
}

const char *regex_fault(const char *text, char *room, size_t room_bytes)
{
	regex_t compiled;
	const char *fault = weigh(text);

	if (fault)
		return fault;
	int rc = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		int n = snprintf(room, room_bytes, "is not a POSIX extended regular expression: ");
		regerror(rc, &compiled, room + n, room_bytes - (size_t)n);
		return room;
	}
	regfree(&compiled);
	return NULL;
}
