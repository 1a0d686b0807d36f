/* excerpt.c: the caret stands under the offending text, whatever is before it. */
#include "common.h"

#include "config/excerpt.h"

static void check(const char *text, const char *word, size_t length, const char *expected)
{
	struct strbuf out;
	size_t start = (size_t)(strstr(text, word) - text);

	strbuf_init(&out);
	excerpt_put(&out, text, strlen(text), start, start + length);
	assert_string_equal(strbuf_text(&out), expected);
	strbuf_fini(&out);
}

static void the_line_and_a_caret(void **state)
{
	(void)state;
	check("a: b\nc: word\n", "word", 4, "    c: word\n       ^~~~\n");
	check("c: word", "word", 4, "    c: word\n       ^~~~\n");
	check("c: w", "w", 1, "    c: w\n       ^\n");
	check("c: w", "w", 0, "    c: w\n       ^\n");
}

static void the_mark_ends_with_the_line(void **state)
{
	(void)state;
	check("c: word\nd: e\n", "word", 11, "    c: word\n       ^~~~\n");
	check("c: word  \r\nd\n", "word", 8, "    c: word\n       ^~~~\n");
}

static void tabs_stay_tabs(void **state)
{
	(void)state;
	check("\ta:\tword\n", "word", 4, "    \ta:\tword\n    \t  \t^~~~\n");
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	check("支払: word\n", "word", 4, "    支払: word\n          ^~~~\n");
	check("é: word\n", "word", 4, "    é: word\n       ^~~~\n");
	check("e\xcc\x81: word\n", "word", 4, "    e\xcc\x81: word\n       ^~~~\n");
	check("a: 支払\n", "支払", 6, "    a: 支払\n       ^~~~\n");
}

static void unprintable_bytes_are_replaced(void **state)
{
	(void)state;
	check("\x1b[31m: word\n", "word", 4, "    \xef\xbf\xbd[31m: word\n           ^~~~\n");
	check("\xff: word\n", "word", 4, "    \xef\xbf\xbd: word\n       ^~~~\n");
	check("\xe2\x80\xae: word\n", "word", 4, "    \xef\xbf\xbd: word\n       ^~~~\n");
	check("a: \xe2\x82", "\xe2\x82", 2, "    a: \xef\xbf\xbd\xef\xbf\xbd\n       ^~\n");
}

static void blank_lines_are_not_shown(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out);
	excerpt_put(&out, "", 0, 0, 0);
	excerpt_put(&out, "a\n  \t\nb\n", 8, 3, 4);
	excerpt_put(&out, "a\n", 2, 2, 2);
	excerpt_put(&out, "a\n", 2, 99, 120);
	assert_string_equal(strbuf_text(&out), "");
	strbuf_fini(&out);
}

/* Of a long line a stretch around the caret is shown, which stays under its word. */
static void long_lines_are_clipped(void **state)
{
	char text[3000];
	struct strbuf out;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? 'x' : ' ';
	text[sizeof(text) - 1] = '\0';
	for (size_t start = 0; start + 4 < sizeof(text); start += 13) {
		text[start] = 'W';
		strbuf_init(&out);
		excerpt_put(&out, text, sizeof(text) - 1, start, start + 200);
		char *line = out.text, *caret = strchr(line, '\n') + 1;
		size_t dots = strstr(line, "…") && strstr(line, "…") < strchr(line, 'W') ? 2 : 0;
		assert_int_equal(strchr(line, 'W') - line - dots, strchr(caret, '^') - caret);
		assert_true(out.length < 2 * 120);
		strbuf_fini(&out);
		text[start] = 'x';
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_and_a_caret),
		cmocka_unit_test(the_mark_ends_with_the_line),
		cmocka_unit_test(tabs_stay_tabs),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(unprintable_bytes_are_replaced),
		cmocka_unit_test(blank_lines_are_not_shown),
		cmocka_unit_test(long_lines_are_clipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
