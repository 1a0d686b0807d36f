/* labels.c: names that Prometheus takes and that are nobody else's. */
#include "common.h"

#define LABELS FUNCTION "        labels: "

static const char *const reserved[] = {
	"le",	       "quantile", "target",   "function",     "probe",
	"reason",      "binary",   "build_id", "entry_offset", "exit_strategy",
	"attach_kind", "job",	   "instance", "__name__",     "__x",
};

static const char *const not_names[] = {"1a",	"\"a b\"",   "a-b", "a.b",
					"café", "\"a\\nb\"", "a:b", "\"{}\""};

static void check_each(const char *const *names, size_t n, const char *part)
{
	for (size_t i = 0; i < n; i++) {
		char text[256];
		snprintf(text, sizeof(text), "%s{good: x, %s: y}\n", LABELS, names[i]);
		char *said = parse_wrong(text);
		if (strncmp(said, "c.yaml:6:27: ", 13) != 0 || !strstr(said, part))
			fail_msg("%s", said);
		assert_int_equal(count(said, "c.yaml:"), 1);
		free(said);
	}
}

static void reserved_names_are_refused(void **state)
{
	(void)state;
	check_each(reserved, N_ITEMS(reserved), " is reserved: ");
}

static void other_things_are_no_names(void **state)
{
	(void)state;
	check_each(not_names, N_ITEMS(not_names), " is not a label name: ");
}

static const struct wrong cases[] = {
	{LABELS "{\"\": z}\n", "6:18: a key is missing before the `:`"},
	{LABELS "{a: }\n", "6:18: label `a` has no value"},
	{LABELS "{a: \"\"}\n", "6:21: `a` must not be empty"},
	{LABELS "{a: [x]}\n", "6:21: `a` must be text, not a list"},
	{LABELS "{a: \"x\\ny\"}\n",
	 "6:21: `a` must not hold line ends or other invisible characters"},
	{LABELS "[a]\n", "6:17: `labels` must be a mapping (`name: value`), not a list"},
	{LABELS "a\n", "6:17: `labels` must be a mapping (`name: value`), not `a`"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

/* `n` labels, their names `length` bytes long. */
static char *many(int n, int length)
{
	struct strbuf text;

	strbuf_init(&text);
	strbuf_puts(&text, LABELS "{");
	for (int i = 0; i < n; i++)
		strbuf_printf(&text, "l%0*d: x, ", length - 1, i);
	strbuf_puts(&text, "}\n");
	return strbuf_take(&text);
}

static void names_and_numbers_are_bounded(void **state)
{
	char *most = many(32, 128), *long_name = many(1, 129), *more = many(33, 8);

	(void)state;
	spec_free(parse_right(most));
	char *said = parse_wrong(long_name);
	assert_non_null(strstr(said, "6:18: a label name is at most 128 bytes long"));
	free(said);
	said = parse_wrong(more);
	assert_non_null(strstr(said, "6:17: 33 labels: a function takes at most 32"));
	free(said);
	free(most);
	free(long_name);
	free(more);
}

static void labels_come_in_the_order_of_their_names(void **state)
{
	struct spec *spec =
		parse_right(LABELS "{team: \"a\\\"b\\\\\", Area: ü, _x: \"1\", lee: no_op}\n");
	const struct spec_function *function = &spec->targets[0].functions[0];
	static const char *const expected[][2] = {
		{"Area", "ü"}, {"_x", "1"}, {"lee", "no_op"}, {"team", "a\"b\\"}};

	(void)state;
	assert_int_equal(function->n_labels, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(function->labels[i].name, expected[i][0]);
		assert_string_equal(function->labels[i].value, expected[i][1]);
	}
	spec_free(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserved_names_are_refused),
		cmocka_unit_test(other_things_are_no_names),
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(names_and_numbers_are_bounded),
		cmocka_unit_test(labels_come_in_the_order_of_their_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
