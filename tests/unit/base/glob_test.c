/* glob.c: what matches, what is faulty, and that no pattern takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/glob.h"

static const struct {
	const char *pattern, *text;
	bool matches;
} cases[] = {
	{"", "", true},
	{"", "a", false},
	{"a", "a", true},
	{"a", "A", false},
	{"a", "ab", false},
	{"ab", "a", false},
	{"*", "", true},
	{"*", "anything at all", true},
	{"**", "", true},
	{"heap_*", "heap_insert", true},
	{"heap_*", "heap_", true},
	{"heap_*", "theap_x", false},
	{"*_end", "the_end_end", true},
	{"*_end", "the_end_", false},
	{"a*b*c", "abbbcbc", true},
	{"a*b*c", "acb", false},
	{"?", "", false},
	{"?", "x", true},
	{"??*", "x", false},
	{"f?", "f\xff", true},
	{"[abc]", "b", true},
	{"[abc]", "d", false},
	{"[a-c]x", "cx", true},
	{"[a-c]x", "-x", false},
	{"[a-]", "-", true},
	{"[!a-c]", "b", false},
	{"[!a-c]", "x", true},
	{"[^a-c]", "b", false},
	{"[]]", "]", true},
	{"[]a]", "a", true},
	{"[!]]", "]", false},
	{"[!]]", "x", true},
	{"[\x80-\xff]", "\xc3", true},
	{"\\*", "*", true},
	{"\\*", "x", false},
	{"\\[x\\]", "[x]", true},
	{"shop::Order::pay(*)", "shop::Order::pay(int, char const*)", true},
	{"a/*", "a/b/c", true},
	{"*", ".hidden", true},
	/* Faulty patterns match nothing. */
	{"[a", "a", false},
	{"[a", "[a", false},
	{"a\\", "a", false},
	{"a\\", "a\\", false},
};

static void each_matches_or_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (glob_matches(cases[i].pattern, cases[i].text, strlen(cases[i].text)) !=
		    cases[i].matches)
			fail_msg("%s against %s", cases[i].pattern, cases[i].text);
}

static void text_need_not_end(void **state)
{
	(void)state;
	assert_true(glob_matches("ab?", "abcdef", 3));
	assert_false(glob_matches("abcd", "abcdef", 3));
	assert_true(glob_matches("a?b", "a\0b", 3));
}

static void faults_are_told(void **state)
{
	(void)state;
	assert_null(glob_fault(""));
	assert_null(glob_fault("a*[!x-z]?\\["));
	assert_null(glob_fault("[]]"));
	assert_null(glob_fault("[[]"));
	assert_non_null(strstr(glob_fault("ab["), "without a `]`"));
	assert_non_null(strstr(glob_fault("[!"), "without a `]`"));
	assert_non_null(strstr(glob_fault("[]"), "without a `]`"));
	assert_non_null(strstr(glob_fault("[!]"), "without a `]`"));
	assert_non_null(strstr(glob_fault("a\\"), "nothing behind it"));
}

static void text_without_wildcards_is_itself(void **state)
{
	(void)state;
	assert_false(glob_is_pattern(""));
	assert_false(glob_is_pattern("a\\x2db]"));
	assert_true(glob_is_pattern("a*") && glob_is_pattern("?") && glob_is_pattern("a[b"));
	assert_true(glob_matches_or_is("a\\x2db", "a\\x2db", 6));
	assert_false(glob_matches_or_is("a\\x2db", "ax2db", 5));
	assert_false(glob_matches_or_is("ab", "abc", 3));
	assert_true(glob_matches_or_is("ab", "abc", 2));
	assert_true(glob_matches_or_is("a\\x*", "axyz", 4));
	assert_true(glob_matches_or_is("\\[a", "[a", 2));
}

static void least_lengths(void **state)
{
	(void)state;
	assert_int_equal(glob_least_length(""), 0);
	assert_int_equal(glob_least_length("abc"), 3);
	assert_int_equal(glob_least_length("a\\b"), 3); /* no pattern */
	assert_int_equal(glob_least_length("***"), 0);
	assert_int_equal(glob_least_length("a*\\*b"), 3);
	assert_int_equal(glob_least_length("[abc][!]]?x*"), 4);
	assert_int_equal(glob_least_length("a["), 2); /* faulty: anything will do */
}

/* A matcher that tries every share of the text for every `*` would not come back. */
static void many_stars_do_not_stall(void **state)
{
	enum { LENGTH = 4096, STARS = 300 };
	char pattern[2 * STARS + 2] = "", text[LENGTH + 1];

	(void)state;
	memset(text, 'a', LENGTH);
	text[LENGTH] = '\0';
	for (size_t i = 0; i < STARS; i++)
		strcat(pattern, "a*");
	strcat(pattern, "b");
	clock_t begin = clock();
	assert_false(glob_matches(pattern, text, LENGTH));
	assert_true(clock() - begin < CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_matches_or_not),
		cmocka_unit_test(text_need_not_end),
		cmocka_unit_test(faults_are_told),
		cmocka_unit_test(text_without_wildcards_is_itself),
		cmocka_unit_test(least_lengths),
		cmocka_unit_test(many_stars_do_not_stall),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
