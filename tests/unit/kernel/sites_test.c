/* Places on instructions: shared by few, given back, told apart by file, kept when it grows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/contract.h"
#include "kernel/sites.h"

enum { MANY = 5000 }; /* the index grows from 64 several times */

static const struct plan_file file = {.path = "a", .dev = 8, .ino = 100};

static void take(struct sites *sites, const struct plan_file *of, uint64_t offset, uint32_t number,
		 uint32_t member)
{
	uint32_t got_number = 0, got_member = UINT32_MAX;

	assert_int_equal(sites_take(sites, sites_place(of, offset), &got_number, &got_member), 0);
	assert_int_equal(got_number, number);
	assert_int_equal(got_member, member);
}

static void assert_full(struct sites *sites, uint64_t offset)
{
	uint32_t number = 77, member = 77;

	assert_int_equal(sites_take(sites, sites_place(&file, offset), &number, &member), -ENOSPC);
	assert_int_equal(number, 77);
	assert_int_equal(member, 77);
}

static void probes_on_one_instruction_are_told_apart(void **state)
{
	struct sites sites = {0};

	(void)state;
	for (uint32_t i = 0; i < UP_SITE_PROBES; i++)
		take(&sites, &file, 0x1000, 1, i);
	assert_full(&sites, 0x1000);
	assert_full(&sites, 0x1000);
	take(&sites, &file, 0x1001, 2, 0);
	sites_fini(&sites);
}

static void give(struct sites *sites, uint64_t offset, uint32_t member)
{
	sites_release(sites, sites_place(&file, offset), member);
}

/* Under a new number once nobody is left there: open calls still name the old one. */
static void a_place_given_back_is_taken_again(void **state)
{
	struct sites sites = {0};

	(void)state;
	for (uint32_t i = 0; i < UP_SITE_PROBES; i++)
		take(&sites, &file, 0x1000, 1, i);
	take(&sites, &file, 0x2000, 2, 0);
	give(&sites, 0x1000, 2);
	take(&sites, &file, 0x1000, 1, 2);
	assert_full(&sites, 0x1000);
	for (uint32_t i = 0; i < UP_SITE_PROBES; i++)
		give(&sites, 0x1000, i);
	assert_int_equal(sites.n, 1);
	take(&sites, &file, 0x1000, 3, 0);
	take(&sites, &file, 0x2000, 2, 1); /* it was nobody else's */
	sites_fini(&sites);
}

static void giving_back_nothing_does_nothing(void **state)
{
	struct sites sites = {0};

	(void)state;
	give(&sites, 0x1000, 3);
	take(&sites, &file, 0x1000, 1, 0);
	give(&sites, 0x1000, 1);
	give(&sites, 0x2000, 0);
	take(&sites, &file, 0x1000, 1, 1);
	sites_fini(&sites);
}

static void files_are_told_apart_by_device_and_inode(void **state)
{
	const struct plan_file other_device = {.path = "a", .dev = 9, .ino = 100};
	const struct plan_file other_inode = {.path = "a", .dev = 8, .ino = 101};
	const struct plan_file other_path = {.path = "b", .dev = 8, .ino = 100};
	struct sites sites = {0};

	(void)state;
	take(&sites, &file, 0x1000, 1, 0);
	take(&sites, &other_device, 0x1000, 2, 0);
	take(&sites, &other_inode, 0x1000, 3, 0);
	take(&sites, &other_path, 0x1000, 1, 1);
	sites_fini(&sites);
}

static void numbers_stay_when_it_grows(void **state)
{
	struct sites sites = {0};

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		take(&sites, &file, 0x1000 + 16 * (uint64_t)i, i + 1, 0);
	for (uint32_t i = 0; i < MANY; i++)
		take(&sites, &file, 0x1000 + 16 * (uint64_t)i, i + 1, 1);
	for (uint32_t i = 0; i < MANY; i += 2)
		give(&sites, 0x1000 + 16 * (uint64_t)i, 0);
	for (uint32_t i = 0; i < MANY; i++)
		take(&sites, &file, 0x1000 + 16 * (uint64_t)i, i + 1, i % 2 ? 2 : 0);
	assert_int_equal(sites.n, MANY);
	assert_true(sites.room > MANY); /* never full: a search for what is not there ends */
	sites_fini(&sites);
	assert_int_equal(sites.n, 0);
	take(&sites, &file, 0x1000, 1, 0);
	sites_fini(&sites);
}

/* Whatever is taken out, what is left is found, and it does not grow for ever. */
static void taking_out_loses_nothing(void **state)
{
	struct sites sites = {0};
	static uint32_t number[MANY];

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 500; i++) {
			uint32_t member;
			assert_int_equal(sites_take(&sites, sites_place(&file, 7 * (uint64_t)i),
						    &number[i], &member),
					 0);
			assert_int_equal(member, round && i % 3 ? 1 : 0);
		}
		for (uint32_t i = 0; i < 500; i++)
			take(&sites, &file, 7 * (uint64_t)i, number[i], round && i % 3 ? 2 : 1);
		for (uint32_t i = 0; i < 500; i++)
			for (uint32_t member = i % 3 ? 1 : 0; member < 3; member++)
				give(&sites, 7 * (uint64_t)i, member);
		assert_int_equal(sites.n, 333);
		assert_int_equal(sites.room, 1024);
	}
	sites_fini(&sites);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_on_one_instruction_are_told_apart),
		cmocka_unit_test(a_place_given_back_is_taken_again),
		cmocka_unit_test(giving_back_nothing_does_nothing),
		cmocka_unit_test(files_are_told_apart_by_device_and_inode),
		cmocka_unit_test(numbers_stay_when_it_grows),
		cmocka_unit_test(taking_out_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
