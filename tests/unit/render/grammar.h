/*
 * A strict reader of the text formats, for tests: it fails the running cmocka test at the first
 * line that breaks a rule of the format. The rules are those that Prometheus or promtool enforce
 * and that OpenMetrics 1.0 states; what it does not know (timestamps, exemplars, summaries) it
 * refuses, because this program writes none.
 */
#ifndef TESTS_GRAMMAR_H
#define TESTS_GRAMMAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "base/vec.h"

enum grammar_format { GRAMMAR_TEXT, GRAMMAR_OPENMETRICS };

struct grammar {
	enum grammar_format format;
	char family[256], type[32]; /* of the metadata seen last */
	bool has_help, has_type, has_unit;
	VEC(char *) families; /* names seen, none may come again */
	VEC(char *) series;   /* name and labels of every sample */
	/* the histogram series being read: labels without `le` */
	char *bucket_of;
	double le, count;
	bool closed; /* its +Inf bucket was seen */
	bool ended;  /* # EOF was seen */
	size_t samples;
};

static inline bool grammar_knows(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

#define GRAMMAR_CHECK(line, condition)                                                             \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("not so: %s\nin line: %s", #condition, line);                     \
	} while (0)

static inline size_t grammar_name(const char *at)
{
	size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789:");
	return *at >= '0' && *at <= '9' ? 0 : n;
}

static inline void grammar_begin_family(struct grammar *g, const char *line, const char *name)
{
	if (!strcmp(g->family, name))
		return;
	GRAMMAR_CHECK(line, !grammar_knows(g->families.at, g->families.n, name));
	GRAMMAR_CHECK(line, g->bucket_of == NULL);
	*vec_push(&g->families) = strdup(name);
	snprintf(g->family, sizeof(g->family), "%s", name);
	g->type[0] = '\0';
	g->has_help = g->has_type = g->has_unit = false;
}

/* Backslash only before what the format lets it escape. */
static inline void grammar_escapes(const char *line, const char *text, const char *end,
				   const char *allowed)
{
	for (; text < end; text++)
		if (*text == '\\') {
			text++;
			GRAMMAR_CHECK(line, text < end && strchr(allowed, *text));
		}
}

static inline void grammar_type(struct grammar *g, const char *line, const char *text)
{
	static const char *const types[] = {"counter", "gauge", "histogram", "info"};
	bool known = false;

	for (size_t i = 0; i < (g->format == GRAMMAR_TEXT ? 3 : 4); i++)
		known |= !strcmp(types[i], text);
	GRAMMAR_CHECK(line, known && !g->has_type);
	GRAMMAR_CHECK(line, g->format == GRAMMAR_TEXT || (!g->has_help && !g->has_unit));
	snprintf(g->type, sizeof(g->type), "%s", text);
	g->has_type = true;
}

static inline void grammar_metadata(struct grammar *g, const char *line)
{
	char kind[8] = "", name[256] = "";
	int end = 0;

	GRAMMAR_CHECK(line, sscanf(line, "# %7[A-Z] %255[a-zA-Z0-9_:]%n", kind, name, &end) == 2);
	GRAMMAR_CHECK(line, line[end] == ' ' && grammar_name(name) == strlen(name));
	const char *text = line + end + 1;
	grammar_begin_family(g, line, name);
	if (!strcmp(kind, "TYPE")) {
		grammar_type(g, line, text);
	} else if (!strcmp(kind, "UNIT")) {
		size_t n = strlen(name), unit = strlen(text);
		GRAMMAR_CHECK(line, g->format == GRAMMAR_OPENMETRICS && g->has_type);
		GRAMMAR_CHECK(line, !g->has_unit && !g->has_help && n > unit + 1);
		GRAMMAR_CHECK(line, name[n - unit - 1] == '_' && !strcmp(name + n - unit, text));
		g->has_unit = true;
	} else {
		GRAMMAR_CHECK(line, !strcmp(kind, "HELP") && !g->has_help);
		grammar_escapes(line, text, text + strlen(text),
				g->format == GRAMMAR_TEXT ? "\\n" : "\\n\"");
		g->has_help = true;
	}
}

/* The sample's name against the family's type; gives the suffix. */
static inline const char *grammar_suffix(const struct grammar *g, const char *line,
					 const char *name)
{
	static const char *const histogram[] = {"_bucket", "_sum", "_count"};
	const char *suffix = name + strlen(g->family);

	GRAMMAR_CHECK(line, g->has_type && !strncmp(name, g->family, strlen(g->family)));
	if (!strcmp(g->type, "histogram")) {
		bool known = false;
		for (size_t i = 0; i < 3; i++)
			known |= !strcmp(suffix, histogram[i]);
		GRAMMAR_CHECK(line, known);
	} else if (g->format == GRAMMAR_OPENMETRICS && !strcmp(g->type, "counter")) {
		GRAMMAR_CHECK(line, !strcmp(suffix, "_total"));
	} else if (g->format == GRAMMAR_OPENMETRICS && !strcmp(g->type, "info")) {
		GRAMMAR_CHECK(line, !strcmp(suffix, "_info"));
	} else {
		GRAMMAR_CHECK(line, !*suffix);
	}
	return suffix;
}

/* A number, spelt as Go and Prometheus read it. */
static inline double grammar_number(const char *line, const char *text)
{
	char *end;

	if (!strcmp(text, "NaN"))
		return NAN;
	if (!strcmp(text, "+Inf") || !strcmp(text, "-Inf"))
		return *text == '-' ? -INFINITY : INFINITY;
	GRAMMAR_CHECK(line, *text && strspn(text, "0123456789.e+-") == strlen(text));
	GRAMMAR_CHECK(line, (*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0'));
	double value = strtod(text, &end);
	GRAMMAR_CHECK(line, !*end);
	return value;
}

/* Reads `{name="value",…}`; copies `le` aside and the rest, as written, to `rest`. */
static inline const char *grammar_labels(const char *line, const char *at, char *rest, char *le)
{
	char names[64][256];
	size_t n = 0;

	for (at++; *at != '}';) {
		size_t length = grammar_name(at);
		GRAMMAR_CHECK(line, length > 0 && length < 256 && n < 64);
		snprintf(names[n], sizeof(names[n]), "%.*s", (int)length, at);
		for (size_t i = 0; i < n; i++)
			GRAMMAR_CHECK(line, strcmp(names[i], names[n]) != 0);
		const char *value = at + length + 2, *end = value;
		GRAMMAR_CHECK(line, at[length] == '=' && at[length + 1] == '"');
		for (; *end && *end != '"'; end++)
			if (*end == '\\' && end[1])
				end++;
		GRAMMAR_CHECK(line, *end == '"');
		grammar_escapes(line, value, end, "\\n\"");
		if (!strcmp(names[n], "le"))
			snprintf(le, 64, "%.*s", (int)(end - value), value);
		else
			rest += sprintf(rest, "%.*s,", (int)(end + 1 - at), at);
		n++;
		at = end + 1;
		GRAMMAR_CHECK(line, *at == '}' || (*at == ',' && at[1] != '}'));
		at += *at == ',';
	}
	return at + 1;
}

/* Buckets ascend, are cumulative and end with +Inf, which equals the count. */
static inline void grammar_histogram(struct grammar *g, const char *line, const char *suffix,
				     const char *rest, const char *le, double value)
{
	GRAMMAR_CHECK(line, (*le != 0) == !strcmp(suffix, "_bucket"));
	if (!strcmp(suffix, "_bucket")) {
		double bound = grammar_number(line, le);
		GRAMMAR_CHECK(line, strpbrk(le, ".e") || !strcmp(le, "+Inf"));
		if (!g->bucket_of) {
			g->bucket_of = strdup(rest);
			g->le = -INFINITY;
			g->count = 0;
			g->closed = false;
		}
		GRAMMAR_CHECK(line, !strcmp(g->bucket_of, rest) && !g->closed);
		GRAMMAR_CHECK(line, bound > g->le && value >= g->count);
		g->le = bound;
		g->count = value;
		g->closed = isinf(bound);
		return;
	}
	GRAMMAR_CHECK(line, g->bucket_of && !strcmp(g->bucket_of, rest) && g->closed);
	if (!strcmp(suffix, "_count")) {
		GRAMMAR_CHECK(line, value == g->count);
		free(g->bucket_of);
		g->bucket_of = NULL;
	}
}

static inline void grammar_sample(struct grammar *g, const char *line)
{
	char name[256], le[64] = "";
	size_t length = grammar_name(line);
	char *rest = calloc(1, 2 * strlen(line) + 2);
	const char *at = line + length;

	GRAMMAR_CHECK(line, length > 0 && length < sizeof(name));
	snprintf(name, sizeof(name), "%.*s", (int)length, line);
	if (*at == '{')
		at = grammar_labels(line, at, rest, le);
	GRAMMAR_CHECK(line, *at == ' ');
	char *series = strndup(line, (size_t)(at - line));
	GRAMMAR_CHECK(line, !grammar_knows(g->series.at, g->series.n, series));
	*vec_push(&g->series) = series;
	const char *suffix = grammar_suffix(g, line, name);
	double value = grammar_number(line, at + 1);
	GRAMMAR_CHECK(line, strcmp(g->type, "counter") != 0 || value >= 0);
	GRAMMAR_CHECK(line, strcmp(g->type, "info") != 0 || value == 1);
	if (!strcmp(g->type, "histogram"))
		grammar_histogram(g, line, suffix, rest, le, value);
	else
		GRAMMAR_CHECK(line, !*le);
	g->samples++;
	free(rest);
}

static inline void grammar_line(struct grammar *g, const char *line)
{
	GRAMMAR_CHECK(line, !g->ended && *line && utf8_valid(line));
	if (!strcmp(line, "# EOF") && g->format == GRAMMAR_OPENMETRICS)
		g->ended = true;
	else if (*line == '#')
		grammar_metadata(g, line);
	else
		grammar_sample(g, line);
}

/* Check a whole scrape; gives the number of samples. */
static inline size_t grammar_check(enum grammar_format format, const char *text)
{
	struct grammar g = {.format = format};

	while (*text) {
		const char *end = strchr(text, '\n');
		GRAMMAR_CHECK(text, end != NULL);
		char *line = strndup(text, (size_t)(end - text));
		grammar_line(&g, line);
		free(line);
		text = end + 1;
	}
	assert_true(g.ended == (format == GRAMMAR_OPENMETRICS));
	assert_null(g.bucket_of);
	for (size_t i = 0; i < g.families.n; i++)
		free(g.families.at[i]);
	for (size_t i = 0; i < g.series.n; i++)
		free(g.series.at[i]);
	vec_fini(&g.families);
	vec_fini(&g.series);
	return g.samples;
}

#endif
