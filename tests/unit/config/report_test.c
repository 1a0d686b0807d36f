/* report.c: faults come out once each, in the order of the file, with line and column. */
#include "common.h"

#include "config/report.h"

static char *written(struct report *report)
{
	struct strbuf out;

	strbuf_init(&out);
	report_write(report, &out);
	report_fini(report);
	return strbuf_take(&out);
}

static void in_the_order_of_the_file(void **state)
{
	const char *text = "one\ntwo three\n";
	struct report report;

	(void)state;
	report_init(&report, "f", text, strlen(text));
	report_error(&report, (struct span){8, 13}, "%s", "third");
	report_warning(&report, (struct span){4, 7}, "second");
	report_file_error(&report, "whole %d", 1);
	report_error(&report, (struct span){0, 3}, "first");
	assert_int_equal(report.errors, 3);
	char *said = written(&report);
	assert_string_equal(said, "f: whole 1\n"
				  "f:1:1: first\n    one\n    ^~~\n"
				  "f:2:1: warning: second\n    two three\n    ^~~\n"
				  "f:2:5: third\n    two three\n        ^~~~~\n");
	free(said);
}

static void the_same_fault_once(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, "f", "one two", 7);
	report_error(&report, (struct span){4, 7}, "a");
	report_error(&report, (struct span){4, 7}, "b");
	report_error(&report, (struct span){4, 7}, "a");
	report_error(&report, (struct span){0, 3}, "a");
	char *said = written(&report);
	assert_int_equal(count(said, ": a\n"), 2);
	assert_int_equal(count(said, ": b\n"), 1);
	free(said);
}

static void columns_are_characters(void **state)
{
	const char *text = "\t支払é x";
	struct report report;

	(void)state;
	report_init(&report, "f", text, strlen(text));
	report_error(&report, (struct span){strlen(text) - 1, strlen(text)}, "here");
	char *said = written(&report);
	assert_true(!strncmp(said, "f:1:6: here\n", 12));
	free(said);
}

static void lines_are_found(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, "f", "a\n\nb\r\nc", 7);
	assert_int_equal(report_line(&report, 0), 1);
	assert_int_equal(report_line(&report, 1), 1);
	assert_int_equal(report_line(&report, 2), 2);
	assert_int_equal(report_line(&report, 3), 3);
	assert_int_equal(report_line(&report, 6), 4);
	assert_int_equal(report_line(&report, 99), 4);
	assert_string_equal(report_text(&report, 6), "c");
	assert_string_equal(report_text(&report, 99), "");
	report_fini(&report);
}

static void too_many_faults_end(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, "f", "x", 1);
	for (int i = 0; i < REPORT_MAX_FAULTS; i++)
		report_error(&report, (struct span){0, 1}, "fault %d", i);
	assert_false(report.full);
	report_error(&report, (struct span){0, 1}, "one more");
	report_file_error(&report, "and another");
	assert_true(report.full);
	char *said = written(&report);
	assert_int_equal(count(said, "f:1:1: fault"), REPORT_MAX_FAULTS);
	assert_null(strstr(said, "one more"));
	assert_non_null(strstr(said, "f: too many faults: only the first 1000 are shown\n"));
	free(said);
}

static void quotes_are_clipped_and_clean(void **state)
{
	char text[5000];

	(void)state;
	assert_string_equal(QUOTE(""), "``");
	assert_string_equal(QUOTE("a\nb\x1b\xff"), "`a\xef\xbf\xbd"
						   "b\xef\xbf\xbd\xef\xbf\xbd`");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(QUOTE(text), "`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`");
	for (size_t i = 0; i + 4 < sizeof(text); i += 4)
		memcpy(text + i, "\xf0\x9f\x98\x80", 4);
	assert_int_equal(strlen(QUOTE(text)), 40 * 4 + 2 + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_order_of_the_file),
		cmocka_unit_test(the_same_fault_once),
		cmocka_unit_test(columns_are_characters),
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(too_many_faults_end),
		cmocka_unit_test(quotes_are_clipped_and_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
