/* check.c: names that must differ, totals that must fit. */
#include "common.h"

#include "bpf/contract.h"

#define SECOND "  - {name: b, binary: /b, functions: [{symbol: pay}]}\n"

static const struct wrong cases[] = {
	{FUNCTION "  - {name: shop, binary: /b, functions: [{symbol: pay}]}\n",
	 "6:12: duplicate target `shop`: the one on line 2 has the same name"},
	{FUNCTION "      - symbol: pay\n", "6:17: duplicate function `pay`: the one on line 5 "
					   "makes the same series; give one a `name` of "
					   "its own"},
	{FUNCTION "      - {symbol: pay2, name: pay}\n",
	 "6:30: duplicate function `pay`: the one on line 5 makes the same series; give one a "
	 "`name` of "
	 "its own"},
	{FUNCTION "        labels: {a: x, b: y}\n      - {symbol: pay, labels: {b: y, a: x}}\n",
	 "7:18: duplicate function `pay`: the one on line 5 makes the same series; give one a "
	 "`name` of "
	 "its own"},
	{FUNCTION "      - {symbol: pay, labels: {a: x}}\n",
	 "6:18: duplicate function `pay`: the one on line 5 has the same name, and not every "
	 "metric "
	 "carries the `labels` that differ; give one a `name` of its own"},
	{"limits: {series: 1}\n" FUNCTION SECOND,
	 "7:48: 2 functions need as many series, but `limits: {series: …}` is 1: raise it"},
	{"limits: {series: 2}\n" FUNCTION "      - symbol: f\n      - symbol: g\n" SECOND,
	 "8:17: 4 functions need as many series, but `limits: {series: …}` is 2: raise it"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

static void what_differs_is_right(void **state)
{
	(void)state;
	spec_free(parse_right(FUNCTION SECOND));
	spec_free(parse_right(FUNCTION "      - {symbol: pay, name: pay again}\n"));
	spec_free(parse_right("limits: {series: 2}\n" FUNCTION SECOND));
}

static void every_duplicate_is_told(void **state)
{
	char *said = parse_wrong(FUNCTION
				 "      - symbol: pay\n      - symbol: x\n      - symbol: pay\n");

	(void)state;
	assert_int_equal(count(said, "the one on line 5"), 2);
	assert_non_null(strstr(said, "c.yaml:6:17:"));
	assert_non_null(strstr(said, "c.yaml:8:17:"));
	free(said);
}

/* `n` functions, each with buckets of its own. */
static void add_functions(struct strbuf *text, int n)
{
	strbuf_puts(text, "targets:\n- name: a\n  binary: /a\n  functions:\n");
	for (int i = 0; i < n; i++)
		strbuf_printf(text, "  - {symbol: f%d, buckets: [%dms]}\n", i, i + 1);
}

static void bounds_tables_are_bounded(void **state)
{
	struct strbuf text;

	(void)state;
	strbuf_init(&text);
	add_functions(&text, UP_BOUNDS_TABLES);
	strbuf_puts(&text, "  - {symbol: same, buckets: [1000us]}\n");
	spec_free(parse_right(strbuf_text(&text)));
	strbuf_puts(&text, "  - {symbol: more, buckets: [1s]}\n");
	char *said = parse_wrong(strbuf_text(&text));
	assert_true(!strncmp(
		said, "c.yaml:134:29: more than 128 different `buckets` lists in one file\n", 67));
	free(said);
	strbuf_fini(&text);
}

static void buckets_without_effect_are_warned_of(void **state)
{
	const char *text = FUNCTION "        exit: none\n        buckets: [1ms]\n";
	struct strbuf diagnostics;
	struct spec *spec;

	(void)state;
	strbuf_init(&diagnostics);
	assert_int_equal(config_parse("c.yaml", text, strlen(text), &spec, &diagnostics), 0);
	assert_string_equal(
		strbuf_text(&diagnostics),
		"c.yaml:7:18: warning: `buckets` has no effect: with `exit: none` calls are "
		"counted, not timed\n"
		"            buckets: [1ms]\n"
		"                     ^~~~~\n");
	spec_free(spec);
	strbuf_fini(&diagnostics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(what_differs_is_right),
		cmocka_unit_test(every_duplicate_is_told),
		cmocka_unit_test(bounds_tables_are_bounded),
		cmocka_unit_test(buckets_without_effect_are_warned_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
