/* scalar.c: types are strict, ranges are named. */
#include "common.h"

static const struct wrong cases[] = {
	{FUNCTION "      - symbol: no\n",
	 "6:17: `symbol` must be text, and `no` without quotes is a "
	 "boolean in YAML: put it in quotes"},
	{FUNCTION "      - symbol: 12\n",
	 "6:17: `symbol` must be text, and `12` without quotes is a "
	 "number in YAML: put it in quotes"},
	{FUNCTION "        name: ~\n",
	 "6:15: `name` must be text, and `~` without quotes is null in "
	 "YAML: put it in quotes"},
	{FUNCTION "        labels: {v: 1.10}\n",
	 "6:21: `v` must be text, and `1.10` without quotes is a "
	 "number in YAML: put it in quotes"},
	{FUNCTION "        name: ''\n", "6:15: `name` must not be empty"},
	{FUNCTION "        name: \"a\\tb\"\n",
	 "6:15: `name` must not hold line ends or other invisible characters"},
	{FUNCTION "        name: \"a\\u202eb\"\n",
	 "6:15: `name` must not hold line ends or other invisible characters"},
	{FUNCTION "        name: |\n          a\n",
	 "6:15: `name` must not hold line ends or other invisible characters"},
	{FUNCTION "        name: [a]\n", "6:15: `name` must be text, not a list"},
	{FUNCTION "        name: {a: b}\n", "6:15: `name` must be text, not a mapping"},
	{FUNCTION "        name:\n", "6:9: `name` has no value"},
	{FUNCTION "        exit: [none]\n", "6:15: `exit` must be a word, not a list"},
	{FUNCTION "        exit: off\n",
	 "6:15: `exit` must be auto, uretprobe, return-sites or none, not `off`"},
	{FUNCTION "        exit: None\n",
	 "6:15: `exit` must be auto, uretprobe, return-sites or none, not `None`; did "
	 "you mean `none`?"},
	{FUNCTION "        exit: \"\"\n",
	 "6:15: `exit` must be auto, uretprobe, return-sites or none, not empty text"},
	{"limits: {series: 0}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `0`"},
	{"limits: {series: 131073}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `131073`"},
	{"limits: {series: 18446744073709551617}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `18446744073709551617`"},
	{"limits: {series: 1.0}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `1.0`"},
	{"limits: {series: 1_0}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `1_0`"},
	{"limits: {series: +1}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `+1`"},
	{"limits: {series: 01}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `01`"},
	{"limits: {series: \"1\"}\n" FUNCTION,
	 "1:18: `series` must be a number: write 1 without quotes"},
	{"limits: {series: \"x\"}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `x`"},
	{"limits: {series: \"\"}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not empty text"},
	{"limits: {series: yes}\n" FUNCTION,
	 "1:18: `series` must be a whole number from 1 to 131072, not `yes`"},
	{"limits: {shards: 257}\n" FUNCTION,
	 "1:18: `shards` must be a whole number from 1 to 256, not `257`"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

static void long_text_is_refused(void **state)
{
	char text[8192] = FUNCTION "        name: ";
	size_t start = strlen(text);

	(void)state;
	memset(text + start, 'x', 1024);
	spec_free(parse_right(text));
	text[start + 1024] = 'x';
	char *said = parse_wrong(text);
	assert_true(!strncmp(said, "c.yaml:6:15: `name` is longer than 1024 bytes\n", 46));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(long_text_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
