/* What the config tests share: parse a text, and look at the spec or at the diagnostics. */
#ifndef TESTS_CONFIG_COMMON_H
#define TESTS_CONFIG_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

/* Line 1-5 of a config whose function begins on line 5, column 9. */
#define FUNCTION                                                                                   \
	"targets:\n"                                                                               \
	"  - name: shop\n"                                                                         \
	"    binary: /usr/bin/shop\n"                                                              \
	"    functions:\n"                                                                         \
	"      - symbol: pay\n"

/* The spec of a right config; fails the test, showing why, if it is wrong. */
static inline struct spec *parse_right(const char *text)
{
	struct strbuf diagnostics;
	struct spec *spec;

	strbuf_init(&diagnostics);
	int rc = config_parse("c.yaml", text, strlen(text), &spec, &diagnostics);
	if (rc || !spec)
		fail_msg("%s", strbuf_text(&diagnostics));
	assert_string_equal(strbuf_text(&diagnostics), "");
	strbuf_fini(&diagnostics);
	return spec;
}

/* The diagnostics of a wrong config; release with free(). */
static inline char *parse_wrong_bytes(const char *text, size_t length)
{
	struct strbuf diagnostics;
	struct spec *spec = (struct spec *)&diagnostics;

	strbuf_init(&diagnostics);
	int rc = config_parse("c.yaml", text, length, &spec, &diagnostics);
	if (!rc)
		fail_msg("taken for right: %.200s", text);
	assert_int_equal(rc, -22);
	assert_null(spec);
	return strbuf_take(&diagnostics);
}

static inline char *parse_wrong(const char *text)
{
	return parse_wrong_bytes(text, strlen(text));
}

/* A text and the first line of its diagnostics, from the line number on. */
struct wrong {
	const char *text, *first;
};

static inline void check_wrong(const struct wrong *cases, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		char *said = parse_wrong(cases[i].text);
		assert_true(!strncmp(said, "c.yaml:", 7));
		said[strcspn(said, "\n")] = '\0';
		if (strcmp(said + 7, cases[i].first) != 0) {
			print_error("of\n%s\nwanted  %s\ngot     %s\n", cases[i].text,
				    cases[i].first, said + 7);
			wrong++;
		}
		free(said);
	}
	assert_int_equal(wrong, 0);
}

static inline int count(const char *text, const char *word)
{
	int n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

#endif
