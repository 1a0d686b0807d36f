/* buckets.c: bounds ascend, each fault stands at its own bound. */
#include "common.h"

#define BUCKETS FUNCTION "        buckets: "

static const struct wrong cases[] = {
	{BUCKETS "[]\n",
	 "6:18: `buckets` is empty: give 1 to 255 bounds, or leave the key out for the "
	 "default"},
	{BUCKETS "1ms\n", "6:18: `buckets` must be a list such as [1ms, 10ms, 100ms], not `1ms`"},
	{BUCKETS "{1ms: x}\n",
	 "6:18: `buckets` must be a list such as [1ms, 10ms, 100ms], not a mapping"},
	{BUCKETS "[1ms, [2ms]]\n", "6:24: `buckets` must be a list of durations, not a list"},
	{BUCKETS "[1ms, ~]\n",
	 "6:24: bound `~` is not a duration: write a number and a unit without "
	 "blanks, such as 250ns, 2.5us, 1ms, 3s, 5m or 1h"},
	{BUCKETS "[1ms, \"\"]\n",
	 "6:24: bound `` is not a duration: write a number and a unit without "
	 "blanks, such as 250ns, 2.5us, 1ms, 3s, 5m or 1h"},
	{BUCKETS "[1, 1, 2]\n",
	 "6:19: bound `1` has no unit: add ns, us, ms, s, m or h, as in 1ms"},
	{BUCKETS "[2ms, 1ms]\n", "6:24: bound `1ms` is below `2ms` before it: bounds must ascend"},
	{BUCKETS "[1ms, 1ms]\n", "6:24: bound `1ms` is given twice: `1ms` on line 6 is the same"},
	{BUCKETS "[1ms, 2ms, 1000us]\n",
	 "6:29: bound `1000us` is given twice: `1ms` on line 6 is the same"},
	{BUCKETS "\n          - 1ms\n          - 1ms\n",
	 "8:13: bound `1ms` is given twice: `1ms` on line 7 is the same"},
	{BUCKETS "[2ms, x, 1ms]\n",
	 "6:24: bound `x` is not a duration: write a number and a unit without "
	 "blanks, such as 250ns, 2.5us, 1ms, 3s, 5m or 1h"},
	{BUCKETS "[1ms, .inf]\n",
	 "6:24: bound `.inf` is no bound to write down: a last bucket up to "
	 "+Inf is always there"},
	{BUCKETS "[1ms, +Inf]\n",
	 "6:24: bound `+Inf` is no bound to write down: a last bucket up to "
	 "+Inf is always there"},
	{BUCKETS "[.nan]\n", "6:19: bound `.nan` is not a duration"},
	{BUCKETS "[0]\n", "6:19: bound `0` is no upper bound: it must be above 0"},
	{BUCKETS "[-1ms]\n", "6:19: bound `-1ms` is negative: a bound must be above 0"},
	{BUCKETS "[3h]\n",
	 "6:19: bound `3h` is too long: at most 2h26m36s (8796093022208ns, which is "
	 "2^43)"},
	{"defaults: {buckets: [1ms, 1ms]}\n" FUNCTION,
	 "1:27: bound `1ms` is given twice: `1ms` on line 1 is the same"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

static void every_wrong_bound_is_told(void **state)
{
	(void)state;
	char *said = parse_wrong(BUCKETS "[2ms, 1ms, x, 1ms, 3ms, 0]\n");
	assert_int_equal(count(said, "c.yaml:6:"), 4);
	free(said);
}

static void bounds_are_kept_in_nanoseconds(void **state)
{
	struct spec *spec = parse_right(BUCKETS "[0.1us, 1ms, \"1h\"]\n");
	struct buckets buckets = spec->targets[0].functions[0].buckets;

	(void)state;
	assert_int_equal(buckets.n, 3);
	assert_int_equal(buckets.bound_ns[0], 100);
	assert_int_equal(buckets.bound_ns[1], 1000000);
	assert_int_equal(buckets.bound_ns[2], 3600000000000);
	spec_free(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(every_wrong_bound_is_told),
		cmocka_unit_test(bounds_are_kept_in_nanoseconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
