/* fields.c: unknown, missing and misplaced keys. */
#include "common.h"

static const struct wrong cases[] = {
	{FUNCTION "        bukets: [1ms]\n",
	 "6:9: unknown key `bukets` in a function; did you mean `buckets`?"},
	{FUNCTION "        Buckets: [1ms]\n",
	 "6:9: unknown key `Buckets` in a function; did you mean `buckets`?"},
	{FUNCTION "        colour: red\n",
	 "6:9: unknown key `colour` in a function; known are `symbol`, "
	 "`match`, `max`, `offset`, `address`, `name`, `exit`, `buckets`, `labels`"},
	{FUNCTION "        binary: /x\n",
	 "6:9: unknown key `binary` in a function; it belongs in a target"},
	{FUNCTION "    exit: none\n",
	 "6:5: unknown key `exit` in a target; it belongs in `defaults` or a function"},
	{FUNCTION "targtes: []\n",
	 "6:1: unknown key `targtes` in the config; did you mean `targets`?"},
	{FUNCTION "functions: []\n",
	 "6:1: unknown key `functions` in the config; it belongs in a target"},
	{"defaults: {bucket: [1ms]}\n" FUNCTION,
	 "1:12: unknown key `bucket` in `defaults`; did you mean `buckets`?"},
	{"limits: {in-flight: 1}\n" FUNCTION,
	 "1:10: unknown key `in-flight` in `limits`; did you mean `in_flight`?"},
	{FUNCTION "        labels_fron: x\n", "6:9: unknown key `labels_fron` in a function; did "
					      "you mean `labels_from` (not supported yet)?"},
	{FUNCTION "        match: x\n",
	 "6:9: `symbol` and `match` exclude each other: a function has one of them"},
	{FUNCTION "      - name: x\n", "6:9: a function needs one of the keys `symbol`, `match`, "
				       "`offset` or `address`"},
	{FUNCTION "    process: {pids: 1}\n",
	 "6:15: unknown key `pids` in `process`; did you mean `pid`?"},
	{FUNCTION "        \"a\\eb\": x\n", "6:9: unknown key `a\xef\xbf\xbd"
					    "b` in a function; known are "
					    "`symbol`, `match`, `max`, `offset`, `address`, "
					    "`name`, `exit`, `buckets`, `labels`"},
	{"{}\n", "1:1: the config needs the key `targets`"},
	{"targets: [{}]\n", "1:11: a target needs the key `name`"},
	{"targets:\n  -\n", "2:4: a target must be a mapping (`key: value`), not nothing"},
	{"targets:\n  - [a]\n", "2:5: a target must be a mapping (`key: value`), not a list"},
	{"12\n", "1:1: the config must be a mapping (`key: value`), not `12`"},
	{"defaults:\n" FUNCTION, "1:1: `defaults` has no value"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

static const struct {
	const char *text, *key;
} not_yet[] = {
	{FUNCTION "    library: libssl.so.3\n", "library"},
	{FUNCTION "    debug_file: /x\n", "debug_file"},
	{FUNCTION "    build_id: abc\n", "build_id"},
	{FUNCTION "        labels_from: x\n", "labels_from"},
};

/* And nothing else is said of them: not that the key they stand in for is missing. */
static void later_keys_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(not_yet); i++) {
		char wanted[64], *said = parse_wrong(not_yet[i].text);
		snprintf(wanted, sizeof(wanted), ": `%s` is not supported yet\n", not_yet[i].key);
		if (!strstr(said, wanted) || count(said, "c.yaml:") != 1)
			fail_msg("%s", said);
		free(said);
	}
}

static void a_misspelt_key_is_not_missing_too(void **state)
{
	char *said = parse_wrong(
		"targets:\n  - nam: a\n    binray: /x\n    functons:\n      - symbl: f\n");

	(void)state;
	assert_int_equal(count(said, "did you mean"), 3);
	assert_int_equal(count(said, "needs the key"), 0);
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(later_keys_are_named),
		cmocka_unit_test(a_misspelt_key_is_not_missing_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
