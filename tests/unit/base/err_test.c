/* Error records and the closed set of reasons. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_reason_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++) {
		const char *name = reason_name((enum reason)i);
		assert_non_null(name);
		assert_true(strlen(name) > 0);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
		for (int j = REASON_NONE + 1; j < i; j++)
			assert_string_not_equal(name, reason_name((enum reason)j));
	}
	assert_string_equal(reason_name(REASON_NONE), "");
	assert_string_equal(reason_name((enum reason)1000), "internal");
	assert_string_equal(reason_name((enum reason) - 1), "internal");
}

/* docs/metrics.md tells for each what to do. */
static void every_reason_is_documented(void **state)
{
	char *text = calloc(1, 1 << 18), quoted[64];
	FILE *file = fopen("docs/metrics.md", "re");

	(void)state;
	if (!file)
		fail_msg("docs/metrics.md cannot be opened; run from the top folder");
	assert_true(fread(text, 1, (1 << 18) - 1, file) > 0);
	fclose(file);
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++) {
		snprintf(quoted, sizeof(quoted), "| `%s` |", reason_name((enum reason)i));
		if (i != REASON_CONFIG && !strstr(text, quoted))
			fail_msg("docs/metrics.md lacks %s", quoted);
	}
	free(text);
}

static void an_error_is_filled_and_its_code_returned(void **state)
{
	struct err err = {.line = 7};

	(void)state;
	assert_int_equal(err_set(&err, -ENOENT, REASON_BINARY_NOT_FOUND, "%s: not found", "/x"),
			 -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_int_equal(err.reason, REASON_BINARY_NOT_FOUND);
	assert_int_equal(err.line, 0);
	assert_string_equal(err.msg, "/x: not found");
	assert_int_equal(err_set(NULL, -EPERM, REASON_PERMISSION, "nobody reads this"), -EPERM);
}

static void a_long_message_is_cut(void **state)
{
	struct err err;
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, -EINVAL, REASON_INTERNAL, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_name_of_its_own),
		cmocka_unit_test(every_reason_is_documented),
		cmocka_unit_test(an_error_is_filled_and_its_code_returned),
		cmocka_unit_test(a_long_message_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
