/* Names of the tiers, both ways. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/tier.h"

static const struct {
	enum tier tier;
	const char *name;
} tiers[] = {
	{TIER_AUTO, "auto"}, {TIER_SESSION, "session"}, {TIER_MULTI, "multi"}, {TIER_PERF, "perf"}};

static void names_are_read_and_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++) {
		enum tier tier = TIER_AUTO;

		assert_string_equal(tier_name(tiers[i].tier), tiers[i].name);
		assert_int_equal(tier_parse(tiers[i].name, &tier), 0);
		assert_int_equal(tier, tiers[i].tier);
	}
}

static void other_names_are_none(void **state)
{
	static const char *const wrong[] = {"", "best", "Session", "multi ", "mult", "perf2"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		enum tier tier = TIER_PERF;

		assert_int_equal(tier_parse(wrong[i], &tier), -EINVAL);
		assert_int_equal(tier, TIER_PERF);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_and_written),
		cmocka_unit_test(other_names_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
