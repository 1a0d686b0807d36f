/* Numbers in runs: none twice, and none again before its turn. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/ids.h"

static void given_back_waits_for_its_turn(void **state)
{
	struct ids ids;

	(void)state;
	ids_init(&ids, 8);
	assert_int_equal(ids_take(&ids, 3), 0);
	assert_int_equal(ids_take(&ids, 2), 3);
	ids_give(&ids, 0, 3);
	assert_int_equal(ids_take(&ids, 3), 5);
	assert_int_equal(ids_take(&ids, 2), 0);
	assert_int_equal(ids_take(&ids, 2), -ENOSPC);
	assert_int_equal(ids_take(&ids, 1), 2);
	assert_int_equal(ids_take(&ids, 1), -ENOSPC);
	ids_fini(&ids);
}

static void low_ones_stay_together(void **state)
{
	struct ids ids;

	(void)state;
	ids_init(&ids, 8);
	assert_int_equal(ids_take_low(&ids, 2), 0);
	assert_int_equal(ids_take_low(&ids, 2), 2);
	ids_give(&ids, 0, 2);
	assert_int_equal(ids_take_low(&ids, 1), 0);
	assert_int_equal(ids_take_low(&ids, 2), 4); /* in a row */
	assert_int_equal(ids_take_low(&ids, 1), 1);
	ids_fini(&ids);
}

static void more_than_there_are(void **state)
{
	struct ids ids;

	(void)state;
	ids_init(&ids, 4);
	assert_int_equal(ids_take(&ids, 5), -ENOSPC);
	assert_int_equal(ids_take(&ids, UINT32_MAX), -ENOSPC);
	assert_int_equal(ids_take(&ids, 4), 0);
	ids_give(&ids, 0, 4);
	assert_int_equal(ids_take(&ids, 4), 0);
	ids_fini(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_back_waits_for_its_turn),
		cmocka_unit_test(low_ones_stay_together),
		cmocka_unit_test(more_than_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
