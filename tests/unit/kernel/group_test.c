/* Which probes are linked together, and the lists of sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/group.h"

static void groups_by_file_process_and_strategy(void **state)
{
	struct plan_file a = {.path = "a"}, b = {.path = "b"};
	struct spec_target all = {.name = "all"}, one = {.name = "one", .pid = 42};
	const struct plan_probe probes[] = {
		{.target = &all, .file = &a, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &a, .strategy = STRATEGY_NONE},
		{.target = &one, .file = &a, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &b, .strategy = STRATEGY_URETPROBE},
		{.target = &all, .file = &a, .strategy = STRATEGY_RETURN_SITES},
		{.target = &all, .file = &a, .strategy = STRATEGY_URETPROBE},
	};
	struct group_list groups = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		site_list_add(&group_of(&groups, &probes[i], 0, false)->entries,
			      &(struct site){.offset = i, .cookie = i + 10, .owner = i});
	assert_int_equal(groups.n, 5);
	assert_int_equal(groups.at[0].entries.n, 2);
	assert_int_equal(groups.at[0].entries.owners[1], 5);
	assert_int_equal(groups.at[0].entries.cookies[1], 15);
	assert_int_equal(groups.at[1].strategy, STRATEGY_NONE);
	assert_int_equal(groups.at[2].pid, 42);
	assert_ptr_equal(groups.at[3].file, &b);
	group_list_fini(&groups);
}

static bool is_even(const void *context, size_t owner)
{
	assert_true(context == (const void *)(uintptr_t)&is_even);
	return owner % 2 == 0;
}

static void lists_grow_and_are_filtered_in_step(void **state)
{
	struct plan_file file = {.path = "a"};
	struct spec_target target = {.name = "t"};
	const struct plan_probe probe = {.target = &target, .file = &file};
	struct group_list groups = {0};
	struct site_list *exits = &group_of(&groups, &probe, 0, false)->exits;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		site_list_add(exits, &(struct site){i * 2, i * 3, i * 4, i});
	site_list_filter(exits, is_even, (const void *)(uintptr_t)&is_even);
	assert_int_equal(exits->n, 500);
	for (size_t i = 0; i < 500; i++) {
		assert_int_equal(exits->owners[i], 2 * i);
		assert_int_equal(exits->offsets[i], 4 * i);
		assert_int_equal(exits->cookies[i], 6 * i);
		assert_int_equal(exits->semaphores[i], 8 * i);
	}
	group_list_fini(&groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_by_file_process_and_strategy),
		cmocka_unit_test(lists_grow_and_are_filtered_in_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
