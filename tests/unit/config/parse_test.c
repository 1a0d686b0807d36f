/* parse.c and draft.c: what is written is what the spec holds. */
#include "common.h"

#include "config/parse.h"

static void everything_is_read(void **state)
{
	struct spec *spec = parse_right(
		"limits: {series: 7, in_flight: 8, shards: 9, host_programs: 10, label_sets: 11, "
		"labels_keep: 12s}\n"
		"targets:\n"
		"  - name: a\n"
		"    binary: /bin/a\n"
		"    process: {pid: 4194304}\n"
		"    host_cost: allow\n"
		"    functions:\n"
		"      - symbol: f@V1\n"
		"      - symbol: g\n"
		"        name: gee\n"
		"        exit: none\n"
		"  - {name: b, binary: \"/bin/b\", functions: [{symbol: \"no\"}]}\n");
	const struct spec_target *a = &spec->targets[0], *b = &spec->targets[1];

	(void)state;
	assert_string_equal(spec->file, "c.yaml");
	assert_int_equal(spec->limits.series, 7);
	assert_int_equal(spec->limits.in_flight, 8);
	assert_int_equal(spec->limits.shards, 9);
	assert_int_equal(spec->limits.host_programs, 10);
	assert_int_equal(spec->limits.label_sets, 11);
	assert_int_equal(spec->limits.labels_keep_ns, 12 * (uint64_t)1000000000);
	assert_int_equal(spec->n_targets, 2);
	assert_string_equal(a->name, "a");
	assert_string_equal(a->binary, "/bin/a");
	assert_int_equal(a->pid, 4194304);
	assert_int_equal(a->host_cost, HOST_COST_ALLOW);
	assert_int_equal(a->line, 3);
	assert_int_equal(a->n_functions, 2);
	assert_string_equal(a->functions[0].symbol, "f@V1");
	assert_string_equal(a->functions[0].label, "f@V1");
	assert_int_equal(a->functions[0].line, 8);
	assert_string_equal(a->functions[1].symbol, "g");
	assert_string_equal(a->functions[1].label, "gee");
	assert_int_equal(a->functions[1].exit, EXIT_NONE);
	assert_int_equal(b->pid, 0);
	assert_int_equal(b->host_cost, HOST_COST_REFUSE);
	assert_string_equal(b->functions[0].symbol, "no");
	assert_int_equal(b->functions[0].n_labels, 0);
	spec_free(spec);
}

static void built_in_defaults(void **state)
{
	static const uint64_t us[] = {1,       2,	5,	 10,	  25,	  50,
				      100,     250,	500,	 1000,	  2500,	  5000,
				      10000,   25000,	50000,	 100000,  250000, 500000,
				      1000000, 2500000, 5000000, 10000000};
	struct spec *spec = parse_right(FUNCTION);
	const struct spec_function *function = &spec->targets[0].functions[0];

	(void)state;
	assert_int_equal(spec->limits.series, SPEC_DEFAULT_SERIES);
	assert_int_equal(spec->limits.in_flight, SPEC_DEFAULT_IN_FLIGHT);
	assert_int_equal(spec->limits.shards, SPEC_DEFAULT_SHARDS);
	assert_int_equal(spec->limits.host_programs, SPEC_DEFAULT_HOST_PROGRAMS);
	assert_int_equal(spec->limits.label_sets, SPEC_DEFAULT_LABEL_SETS);
	assert_int_equal(spec->limits.labels_keep_ns, SPEC_DEFAULT_LABELS_KEEP_NS);
	assert_int_equal(function->exit, EXIT_AUTO);
	assert_int_equal(function->buckets.n, N_ITEMS(us));
	for (size_t i = 0; i < N_ITEMS(us); i++)
		assert_int_equal(function->buckets.bound_ns[i], i == 1 ? 2500 : us[i] * 1000);
	spec_free(spec);
}

/* `defaults` may stand behind what it is the default for. */
static void own_defaults(void **state)
{
	struct spec *spec =
		parse_right(FUNCTION "      - symbol: own\n"
				     "        exit: auto\n"
				     "        buckets: [7ms]\n"
				     "defaults: {buckets: [1ms, 2ms], exit: uretprobe}\n");
	const struct spec_function *functions = spec->targets[0].functions;

	(void)state;
	assert_int_equal(functions[0].exit, EXIT_URETPROBE);
	assert_int_equal(functions[0].buckets.n, 2);
	assert_int_equal(functions[1].exit, EXIT_AUTO);
	assert_int_equal(functions[1].buckets.n, 1);
	assert_int_equal(functions[1].buckets.bound_ns[0], 7000000);
	spec_free(spec);
}

static void patterns_and_places(void **state)
{
	struct spec *spec =
		parse_right(FUNCTION "      - match: \"pay_*\"\n"
				     "      - match: \"[!_]*\"\n"
				     "        max: 65536\n"
				     "        exit: none\n"
				     "      - offset: 0x3E1f0\n"
				     "        name: lookup\n"
				     "      - name: find\n"
				     "        address: 4198693\n"
				     "      - {address: 0x7fffffffffffffff, name: last}\n"
				     "      - {offset: 0, name: first}\n");
	const struct spec_function *f = spec->targets[0].functions;

	(void)state;
	assert_int_equal(spec->targets[0].n_functions, 7);
	assert_int_equal(f[0].by, BY_SYMBOL);
	assert_int_equal(f[1].by, BY_MATCH);
	assert_string_equal(f[1].symbol, "pay_*");
	assert_string_equal(f[1].label, "pay_*");
	assert_int_equal(f[1].max, SPEC_DEFAULT_MATCH_MAX);
	assert_int_equal(f[2].max, 65536);
	assert_int_equal(f[2].exit, EXIT_NONE);
	assert_int_equal(f[3].by, BY_OFFSET);
	assert_int_equal(f[3].position, 0x3e1f0);
	assert_string_equal(f[3].label, "lookup");
	assert_null(f[3].symbol);
	assert_int_equal(f[4].by, BY_ADDRESS);
	assert_int_equal(f[4].position, 4198693);
	assert_string_equal(f[4].label, "find");
	assert_true(f[5].position == INT64_MAX);
	assert_int_equal(f[6].position, 0);
	spec_free(spec);
}

static void usdt_probes(void **state)
{
	struct spec *spec = parse_right("targets:\n"
					"  - name: a\n"
					"    binary: /bin/a\n"
					"    usdt:\n"
					"      - probe: p:one\n"
					"        labels: {team: x}\n"
					"      - name: pair\n"
					"        start: p:two\n"
					"        end: q:three\n"
					"        key: {start: arg64, end: arg1}\n"
					"        buckets: [3ms]\n"
					"    functions: [{symbol: pair}]\n"
					"defaults: {exit: none, buckets: [1ms]}\n");
	const struct spec_function *f = spec->targets[0].functions;

	(void)state;
	assert_int_equal(spec->targets[0].n_functions, 3);
	assert_int_equal(f[0].by, BY_USDT);
	assert_string_equal(f[0].label, "p:one");
	assert_string_equal(f[0].start.provider, "p");
	assert_string_equal(f[0].start.name, "one");
	assert_int_equal(f[0].exit, EXIT_NONE);
	assert_int_equal(f[0].n_labels, 1);
	assert_int_equal(f[1].by, BY_PAIR);
	assert_string_equal(f[1].label, "pair");
	assert_string_equal(f[1].start.name, "two");
	assert_string_equal(f[1].end.provider, "q");
	assert_string_equal(f[1].end.name, "three");
	assert_int_equal(f[1].key.start_argument, 64);
	assert_int_equal(f[1].key.end_argument, 1);
	assert_int_equal(f[1].exit, EXIT_AUTO); /* a default is for functions */
	assert_int_equal(f[1].buckets.bound_ns[0], 3000000);
	assert_false(spec_is_usdt(&f[2]));
	assert_true(spec_is_usdt(&f[0]) && spec_is_usdt(&f[1]));
	spec_free(spec);
}

/* How many functions a pattern finds is not known before the file is looked at. */
static void patterns_do_not_count_as_series(void **state)
{
	(void)state;
	spec_free(parse_right("limits: {series: 1}\n" FUNCTION "      - match: \"a*\"\n"
			      "      - match: \"b*\"\n"));
}

#define TARGET(rest) "targets:\n  - name: a\n" rest "    functions: [{symbol: f}]\n"

static const struct wrong cases[] = {
	{TARGET("    binary: bin/a\n"),
	 "3:13: `binary` must be an absolute path, beginning with `/`"},
	{TARGET("    binary: /bin/*\n"),
	 "3:13: a pattern (`*`, `?`, `[`) in `binary` is not supported yet: name one file"},
	{TARGET("    binary: \"/bin/[ab]\"\n"),
	 "3:13: a pattern (`*`, `?`, `[`) in `binary` is not supported yet: name one file"},
	{TARGET("    binary: /bin/a?\n"),
	 "3:13: a pattern (`*`, `?`, `[`) in `binary` is not supported yet: name one file"},
	{TARGET("    binary: \"\"\n"), "3:13: `binary` must not be empty"},
	{TARGET("    binary: /a\n    process: {}\n"),
	 "4:14: `process` is empty: to measure every process, leave it out"},
	{TARGET("    binary: /a\n    process: 12\n"),
	 "4:14: `process` must be a mapping (`key: value`), not `12`"},
	{TARGET("    binary: /a\n    process: {pid: 0}\n"),
	 "4:20: `pid` must be a whole number from 1 to 4194304: to measure every process, leave "
	 "`process` "
	 "out"},
	{TARGET("    binary: /a\n    process: {pid: -1}\n"),
	 "4:20: `pid` must be a whole number from 1 to 4194304: to measure every process, leave "
	 "`process` "
	 "out"},
	{TARGET("    binary: /a\n    process: {pid: 4194305}\n"),
	 "4:20: `pid` must be a whole number from 1 to 4194304, not `4194305`"},
	{TARGET("    binary: /a\n    host_cost: maybe\n"),
	 "4:16: `host_cost` must be refuse or allow, not `maybe`"},
	{FUNCTION "      - match: \"a*\"\n        name: a\n",
	 "7:15: `name` does not go with `match`: each function is shown under its own name"},
	{FUNCTION "      - match: \"a[b\"\n", "6:16: the pattern `a[b` has a `[` without a `]`"},
	{FUNCTION "      - match: \"\"\n", "6:16: `match` must not be empty"},
	{FUNCTION "      - match: \"a*\"\n        max: 0\n",
	 "7:14: `max` must be a whole number from 1 to 65536, not `0`"},
	{FUNCTION "      - match: \"a*\"\n        max: 65537\n",
	 "7:14: `max` must be a whole number from 1 to 65536, not `65537`"},
	{FUNCTION "        max: 5\n",
	 "6:14: `max` bounds how many functions a `match` may find, and "
	 "there is no `match` here"},
	{FUNCTION "      - offset: 0x10\n", "6:17: `offset` needs a `name`: the label `function`"},
	{FUNCTION "      - address: 16\n", "6:18: `address` needs a `name`: the label `function`"},
	{FUNCTION "      - {name: a, offset: -1}\n",
	 "6:27: `offset` must be a number, decimal or hexadecimal such as 0x3e1f0, not `-1`"},
	{FUNCTION "      - {name: a, offset: 3e1f0}\n",
	 "6:27: `offset` must be a number, decimal or hexadecimal such as 0x3e1f0, not `3e1f0`"},
	{FUNCTION "      - {name: a, offset: 0x}\n",
	 "6:27: `offset` must be a number, decimal or hexadecimal such as 0x3e1f0, not `0x`"},
	{FUNCTION "      - {name: a, offset: 010}\n",
	 "6:27: `offset` must be a number, decimal or hexadecimal such as 0x3e1f0, not `010`"},
	{FUNCTION "      - {name: a, address: 0x8000000000000000}\n",
	 "6:28: `address` must be a number, decimal or hexadecimal such as 0x3e1f0, not "
	 "`0x8000000000000000`"},
	{FUNCTION "      - {name: a, address: 0x10000000000000010}\n",
	 "6:28: `address` must be a number, decimal or hexadecimal such as 0x3e1f0, not "
	 "`0x10000000000000010`"},
	{FUNCTION "      - {name: a, address: \"0x10\"}\n",
	 "6:28: `address` must be a number: write 0x10 without quotes"},
	{FUNCTION "      - {name: pay, address: 0x10}\n",
	 "6:16: duplicate function `pay`: the one on line 5 makes the same series; give one a "
	 "`name` of its own"},
	{FUNCTION "      - match: \"a*\"\n      - match: \"a*\"\n",
	 "7:16: duplicate function `a*`: the one on line 6 makes the same series; give one a "
	 "`name` of its own"},
	{"targets: []\n", "1:10: `targets` is empty: list at least one"},
	{"targets: {a: b}\n",
	 "1:10: `targets` must be a list of targets (`- name: …`), not a mapping"},
	{"targets: [{name: a, binary: /a, functions: []}]\n",
	 "1:44: `functions` is empty: list at least one"},
	{"targets: [{name: a, binary: /a, functions: {symbol: f}}]\n",
	 "1:44: `functions` must be a list of functions (`- symbol: …`), not a mapping"},
	{"targets: [{name: a, binary: /a, functions: [f]}]\n",
	 "1:45: a function must be a mapping (`key: value`), not `f`"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

/* A symbol may be longer than a label; then it needs a name. */
static void a_long_symbol_needs_a_name(void **state)
{
	char text[8192], symbol[4097 + 1];

	(void)state;
	memset(symbol, 'x', sizeof(symbol));
	snprintf(text, sizeof(text), FUNCTION "      - symbol: %.4096s\n        name: x\n", symbol);
	spec_free(parse_right(text));
	snprintf(text, sizeof(text), FUNCTION "      - symbol: %.1024s\n", symbol);
	spec_free(parse_right(text));
	snprintf(text, sizeof(text), FUNCTION "      - symbol: %.1025s\n", symbol);
	char *said = parse_wrong(text);
	assert_non_null(
		strstr(said, "6:17: this symbol is longer than a label may be (1024 bytes): add"));
	free(said);
	snprintf(text, sizeof(text), FUNCTION "      - symbol: %.4097s\n", symbol);
	said = parse_wrong(text);
	assert_non_null(strstr(said, "6:17: `symbol` is longer than 4096 bytes"));
	free(said);
}

static void add_targets(struct strbuf *text, int n)
{
	strbuf_puts(text, "targets:\n");
	for (int i = 0; i < n; i++)
		strbuf_printf(text, "- {name: t%d, binary: /b, functions: [symbol: f]}\n", i);
}

static void targets_are_bounded(void **state)
{
	struct strbuf text;

	(void)state;
	strbuf_init(&text);
	strbuf_puts(&text, "limits: {series: 4096}\n");
	add_targets(&text, PARSE_MAX_TARGETS);
	spec_free(parse_right(strbuf_text(&text)));
	strbuf_puts(&text, "- {name: more, binary: /b, functions: [symbol: f]}\n");
	char *said = parse_wrong(strbuf_text(&text));
	assert_non_null(strstr(said, "c.yaml:4099:3: more than 4096 targets in one file\n"));
	free(said);
	strbuf_fini(&text);
}

static void functions_are_bounded(void **state)
{
	struct strbuf text;

	(void)state;
	strbuf_init(&text);
	strbuf_puts(&text,
		    "limits: {series: 131072}\ntargets:\n- {name: a, binary: /b, functions: [\n");
	for (int i = 0; i <= PARSE_MAX_FUNCTIONS; i++)
		strbuf_printf(&text, "symbol: f%x,\n", i);
	strbuf_puts(&text, "]}\n");
	char *said = parse_wrong(strbuf_text(&text));
	assert_true(!strncmp(said, "c.yaml:65540:1: more than 65536 functions in one file\n", 54));
	assert_int_equal(count(said, "c.yaml:"), 1);
	free(said);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(built_in_defaults),
		cmocka_unit_test(own_defaults),
		cmocka_unit_test(patterns_and_places),
		cmocka_unit_test(usdt_probes),
		cmocka_unit_test(patterns_do_not_count_as_series),
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(a_long_symbol_needs_a_name),
		cmocka_unit_test(targets_are_bounded),
		cmocka_unit_test(functions_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
