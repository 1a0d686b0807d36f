/* Which probes share a link set: same file, same process, same need of a return probe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/group.h"

static void groups_by_file_process_and_return(void **state)
{
	struct plan_file a = {.path = "a"}, b = {.path = "b"};
	struct spec_target all = {.name = "all"}, one = {.name = "one", .pid = 42};
	const struct plan_probe probes[] = {
		{.target = &all, .file = &a, .entry_offset = 1, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &a, .entry_offset = 2, .strategy = STRATEGY_NONE},
		{.target = &one, .file = &a, .entry_offset = 1, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &b, .entry_offset = 1, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &a, .entry_offset = 3, .strategy = STRATEGY_URETPROBE},
	};
	struct group_list groups = {0};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		group_add(&groups, &probes[i], i, (int)i + 10);
	assert_int_equal(groups.n, 4);
	assert_int_equal(groups.at[0].n, 2);
	assert_int_equal(groups.at[0].probes[1], 4);
	assert_int_equal(groups.at[0].offsets[1], 3);
	assert_int_equal(groups.at[0].cookies[1], 14);
	assert_true(groups.at[0].with_return);
	assert_false(groups.at[1].with_return);
	assert_int_equal(groups.at[2].pid, 42);
	assert_ptr_equal(groups.at[3].file, &b);
	group_list_fini(&groups);
}

static void grows(void **state)
{
	struct plan_file file = {.path = "a"};
	struct spec_target target = {.name = "t"};
	struct group_list groups = {0};

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		struct plan_probe probe = {.target = &target, .file = &file, .entry_offset = i};
		group_add(&groups, &probe, i, (int)i);
	}
	assert_int_equal(groups.n, 1);
	assert_int_equal(groups.at[0].n, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(groups.at[0].offsets[i], i);
	group_list_fini(&groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_file_process_and_return),
		cmocka_unit_test(grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
