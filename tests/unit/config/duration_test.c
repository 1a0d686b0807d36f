/* duration.c: exact, unit by unit, up to 2^43 ns and not beyond. */
#include "common.h"

#include "config/duration.h"

static const struct right {
	const char *text;
	uint64_t ns;
} rights[] = {
	{"1ns", 1},
	{"100ns", 100},
	{"2.5us", 2500},
	{"2.5\xc2\xb5s", 2500},
	{"2.5\xce\xbcs", 2500},
	{"0.1us", 100},
	{"0.001us", 1},
	{"0.0010us", 1},
	{"1.000us", 1000},
	{"1ms", 1000000},
	{"0.000001ms", 1},
	{"007ms", 7000000},
	{"3s", 3000000000},
	{"0.000000001s", 1},
	{"5m", 300000000000},
	{"0.00000000005m", 3},
	{"1h", 3600000000000},
	{"0.0000000000025h", 9},
	{"1.1s", 1100000000},
	{"8796.093022208s", (uint64_t)1 << 43},
	{"8796093022208ns", (uint64_t)1 << 43},
	{"000000000000000000000000000001ns", 1},
	{"1.00000000000000000000000000000ns", 1},
};

static const struct refused {
	const char *text;
	enum duration_fault fault;
} refusals[] = {
	{"", DURATION_NOT_ONE},
	{"ms", DURATION_NOT_ONE},
	{".5ms", DURATION_NOT_ONE},
	{"1.ms", DURATION_NOT_ONE},
	{"1 ms", DURATION_NOT_ONE},
	{" 1ms", DURATION_NOT_ONE},
	{"1ms ", DURATION_NOT_ONE},
	{"+1ms", DURATION_NOT_ONE},
	{"1e3ns", DURATION_NOT_ONE},
	{"1_000ns", DURATION_NOT_ONE},
	{"1,5ms", DURATION_NOT_ONE},
	{"1m30s", DURATION_NOT_ONE},
	{"0x10ns", DURATION_NOT_ONE},
	{"1..5ms", DURATION_NOT_ONE},
	{"--1ms", DURATION_NOT_ONE},
	{"-", DURATION_NOT_ONE},
	{"\xff", DURATION_NOT_ONE},
	{"1\xc2\xb5", DURATION_NOT_ONE},
	{"1", DURATION_NO_UNIT},
	{"0.5", DURATION_NO_UNIT},
	{"1sec", DURATION_BAD_UNIT},
	{"1MS", DURATION_BAD_UNIT},
	{"1d", DURATION_BAD_UNIT},
	{".inf", DURATION_INFINITE},
	{"+Inf", DURATION_INFINITE},
	{".nan", DURATION_NAN},
	{"NaN", DURATION_NAN},
	{"-1ms", DURATION_NEGATIVE},
	{"-.inf", DURATION_NEGATIVE},
	{"-0ms", DURATION_NEGATIVE},
	{"0", DURATION_ZERO},
	{"0ms", DURATION_ZERO},
	{"0.000s", DURATION_ZERO},
	{"0.5ns", DURATION_FRACTION},
	{"1.0001us", DURATION_FRACTION},
	{"0.0000000001s", DURATION_FRACTION},
	{"0.33333333333333333333s", DURATION_FRACTION},
	{"0.00000000000000000000000000001h", DURATION_FRACTION},
	{"8796093022209ns", DURATION_TOO_LONG},
	{"8796.093022209s", DURATION_TOO_LONG},
	{"3h", DURATION_TOO_LONG},
	{"18446744073709551616ns", DURATION_TOO_LONG},
	{"18446744073709551617ns", DURATION_TOO_LONG},
	{"5124095577h", DURATION_TOO_LONG},
	{"99999999999999999999999999999999999999999999h", DURATION_TOO_LONG},
};

static void right_ones_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(rights); i++) {
		uint64_t ns = 0;
		if (duration_parse(rights[i].text, &ns) != DURATION_OK || ns != rights[i].ns)
			fail_msg("%s: %lu ns", rights[i].text, (unsigned long)ns);
	}
}

static void wrong_ones_say_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(refusals); i++) {
		uint64_t ns = 42;
		enum duration_fault fault = duration_parse(refusals[i].text, &ns);
		if (fault != refusals[i].fault || ns != 42)
			fail_msg("%s: fault %d, not %d", refusals[i].text, (int)fault,
				 (int)refusals[i].fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_ones_are_exact),
		cmocka_unit_test(wrong_ones_say_why),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
