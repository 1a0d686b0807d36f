/* passes.c: which filters a pass is for, and when it is due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes.h"

#define MS 1000000ULL

static void filters_by_what_may_change(void **state)
{
	static const struct {
		struct spec_process spec;
		enum pass pass;
	} cases[] = {
		{{.exe = "/a"}, PASS_ALL},	     {{.cgroup = "/a", .children = true}, PASS_ALL},
		{{.container = "a"}, PASS_ALL},	     {{.pid = 7}, PASS_ALL},
		{{.cmdline = "a"}, PASS_CHANGING},   {{.exe = "/a", .pod = "a"}, PASS_CHANGING},
		{{.namespace = "a"}, PASS_CHANGING}, {{.comm = "a", .cmdline = "a"}, PASS_QUICK},
		{{.user = "a"}, PASS_QUICK},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (passes_of(&cases[i].spec, false) != cases[i].pass)
			fail_msg("case %zu", i);
	assert_int_equal(passes_of(&cases[0].spec, true), PASS_CHANGING);
}

static void each_in_its_time(void **state)
{
	struct passes passes = {0};

	(void)state;
	assert_int_equal(passes_due(&passes, 100000), PASS_ALL);
	passes_note(&passes, PASS_ALL, 100000, 0);
	assert_int_equal(passes_due(&passes, 100014), PASS_NONE);
	assert_int_equal(passes_due(&passes, 100015), PASS_QUICK);
	passes_note(&passes, PASS_QUICK, 100050, 0);
	assert_int_equal(passes_due(&passes, 100059), PASS_NONE);
	assert_int_equal(passes_due(&passes, 100060), PASS_CHANGING);
	passes_note(&passes, PASS_CHANGING, 100060, 0);
	assert_int_equal(passes_age(&passes, PASS_QUICK, 100061), 1);
	assert_int_equal(passes_age(&passes, PASS_ALL, 100061), 61);
	assert_int_equal(passes_due(&passes, 100600), PASS_ALL);
}

/* One part of 2,000 of a CPU, for what nobody was promised sooner. */
static void a_costly_one_waits(void **state)
{
	struct passes passes = {0};

	(void)state;
	passes_note(&passes, PASS_ALL, 1000, 100000 * MS);
	assert_int_equal(passes_due(&passes, 1060), PASS_CHANGING);
	passes_note(&passes, PASS_CHANGING, 1060, 100 * MS);
	assert_int_equal(passes_due(&passes, 1259), PASS_QUICK);
	assert_int_equal(passes_due(&passes, 1260), PASS_CHANGING);
	passes_note(&passes, PASS_CHANGING, 1260, 100000 * MS);
	passes_note(&passes, PASS_QUICK, 1260, 100000 * MS);
	assert_int_equal(passes_due(&passes, 1559), PASS_QUICK);
	assert_int_equal(passes_due(&passes, 1560), PASS_CHANGING);
	assert_int_equal(passes_due(&passes, 1600), PASS_ALL);
	passes_note(&passes, PASS_ALL, 1600, 0);
	passes_note(&passes, PASS_CHANGING, 1700, 1 * MS);
	assert_int_equal(passes_due(&passes, 1760), PASS_CHANGING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_by_what_may_change),
		cmocka_unit_test(each_in_its_time),
		cmocka_unit_test(a_costly_one_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
