/* Numbers in text: spelling, round trip, locale. */
#include "render/number.h"

#include <math.h>
#include <string.h>

#include "tests/unit/render/comma_locale.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_double(double value, const char *wanted)
{
	struct strbuf out;

	strbuf_init(&out);
	number_put_double(&out, value);
	assert_string_equal(strbuf_text(&out), wanted);
	strbuf_fini(&out);
}

static void assert_ns(void (*put)(struct strbuf *, uint64_t), uint64_t ns, const char *wanted)
{
	struct strbuf out;

	strbuf_init(&out);
	put(&out, ns);
	assert_string_equal(strbuf_text(&out), wanted);
	strbuf_fini(&out);
}

static const struct {
	double value;
	const char *wanted;
} doubles[] = {
	{0, "0"},
	{-0.0, "0"},
	{1, "1"},
	{-1, "-1"},
	{10, "10"},
	{0.1, "0.1"},
	{0.1 + 0.2, "0.30000000000000004"},
	{1.0 / 3, "0.3333333333333333"},
	{0.0001, "0.0001"},
	{0.00001, "1e-05"},
	{2.5e-05, "2.5e-05"},
	{1287408, "1287408"},
	{1234567.5, "1234567.5"},
	{1760000000.12, "1760000000.12"},
	{4e14, "400000000000000"},
	{9007199254740991, "9007199254740991"},
	{0x1p53, "9007199254740992"},
	{1e17, "1e+17"},
	{1e21, "1e+21"},
	{1e22, "1e+22"},
	{1.7976931348623157e308, "1.7976931348623157e+308"},
	{5e-324, "5e-324"},
	{2.2250738585072014e-308, "2.2250738585072014e-308"},
	{NAN, "NaN"},
	{-NAN, "NaN"},
	{INFINITY, "+Inf"},
	{-INFINITY, "-Inf"},
};

static void doubles_are_shortest(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(doubles); i++)
		assert_double(doubles[i].value, doubles[i].wanted);
}

static void doubles_read_back(void **state)
{
	struct strbuf out;
	uint64_t bits = 88172645463325252U;

	(void)state;
	strbuf_init(&out);
	for (int i = 0; i < 100000; i++) {
		double value;
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		strbuf_clear(&out);
		number_put_double(&out, value);
		assert_true(strtod(strbuf_text(&out), NULL) == value);
	}
	strbuf_fini(&out);
}

static void integers_are_exact(void **state)
{
	(void)state;
	assert_ns(number_put_u64, 0, "0");
	assert_ns(number_put_u64, 10, "10");
	assert_ns(number_put_u64, 9007199254740993, "9007199254740993");
	assert_ns(number_put_u64, UINT64_MAX, "18446744073709551615");
}

static void seconds_are_exact(void **state)
{
	(void)state;
	assert_ns(number_put_seconds, 0, "0");
	assert_ns(number_put_seconds, 1, "0.000000001");
	assert_ns(number_put_seconds, 123, "0.000000123");
	assert_ns(number_put_seconds, 100000000, "0.1");
	assert_ns(number_put_seconds, 1000000000, "1");
	assert_ns(number_put_seconds, 120000000000, "120");
	assert_ns(number_put_seconds, 1500000001, "1.500000001");
	assert_ns(number_put_seconds, 9007199254740993, "9007199.254740993");
	assert_ns(number_put_seconds, UINT64_MAX, "18446744073.709551615");
}

static const struct {
	uint64_t ns;
	const char *wanted;
} les[] = {
	{0, "0.0"},
	{1, "1e-09"},
	{1000, "1e-06"},
	{2500, "2.5e-06"},
	{25000, "2.5e-05"},
	{99999, "9.9999e-05"},
	{100000, "0.0001"},
	{250000, "0.00025"},
	{100000000, "0.1"},
	{300000000, "0.3"},
	{1000000000, "1.0"},
	{2500000000, "2.5"},
	{10000000000, "10.0"},
	{100000000000, "100.0"},
	{8192000000000, "8192.0"},
	{8796093022208, "8796.093022208"},
	{123456000000000, "123456.0"},
	{1000000000000000, "1e+06"},
	{1234567000000000, "1.234567e+06"},
};

static void le_is_spelt_as_go_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(les); i++)
		assert_ns(number_put_le, les[i].ns, les[i].wanted);
}

/* The digits of a bound are the shortest that give the double which a scraper computes with. */
static void le_is_the_shortest_of_its_double(void **state)
{
	struct strbuf le, shortest;
	uint64_t ns = 1;

	(void)state;
	strbuf_init(&le);
	strbuf_init(&shortest);
	for (int i = 0; i < 50000; i++) {
		ns = (ns * 6364136223846793005U + 1442695040888963407U);
		uint64_t bound = 100000 + (ns >> 21); /* up to 2^43, plain in both spellings */
		strbuf_clear(&le);
		strbuf_clear(&shortest);
		number_put_le(&le, bound);
		number_put_double(&shortest, strtod(strbuf_text(&le), NULL));
		if (bound % 1000000000 == 0)
			strbuf_puts(&shortest, ".0");
		assert_string_equal(strbuf_text(&le), strbuf_text(&shortest));
	}
	strbuf_fini(&le);
	strbuf_fini(&shortest);
}

static void no_locale_changes_a_digit(void **state)
{
	comma_locale_begin();
	doubles_are_shortest(state);
	integers_are_exact(state);
	seconds_are_exact(state);
	le_is_spelt_as_go_does(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles_are_shortest),
		cmocka_unit_test(doubles_read_back),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(seconds_are_exact),
		cmocka_unit_test(le_is_spelt_as_go_does),
		cmocka_unit_test(le_is_the_shortest_of_its_double),
		cmocka_unit_test_teardown(no_locale_changes_a_digit, comma_locale_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
