/* adopt.c: what becomes of a target's probes when its file is resolved again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adopt.h"

#define MOST 4

static const struct spec_function entry[2] = {{.symbol = "f*"}, {.symbol = "f"}};

struct plans {
	struct plan_probe probes[MOST];
	struct plan plan;
};

/* A plan with these labels up to NULL, all of entry 0. */
static void make_plan(struct plans *plans, const char *const *labels)
{
	memset(plans, 0, sizeof(*plans));
	plans->plan.probes = plans->probes;
	for (size_t i = 0; labels[i]; i++) {
		plans->probes[i].label = labels[i];
		plans->probes[i].function = &entry[0];
		plans->plan.n_probes++;
	}
}
#define PLAN(plans, ...) make_plan((plans), (const char *const[]){__VA_ARGS__, NULL})

static struct probe attached(const struct plan_probe *plan, int series)
{
	struct probe probe = probe_of(plan, 1);

	probe.series = series;
	probe.status.attached = true;
	return probe;
}

static void release(struct adopted *adopted)
{
	free(adopted->probes);
	free(adopted->owners);
}

static void a_pattern_gives_way_to_its_matches(void **state)
{
	struct plans before, after;

	(void)state;
	PLAN(&before, "f*");
	PLAN(&after, "f1", "f2");
	struct probe present = probe_of(&before.probes[0], 1);
	struct adopted adopted =
		adopt_plan(&present, 1, after.probes, after.plan.n_probes, false, 9);
	assert_int_equal(adopted.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_equal(adopted.owners[i], &adopted.probes[i]);
		assert_ptr_equal(adopted.probes[i].plan, &after.probes[i]);
		assert_int_equal(adopted.probes[i].series, -1);
		assert_true(adopted.probes[i].status.created_unix == 9);
	}
	release(&adopted);
}

static void what_was_attached_stays(void **state)
{
	struct plans before, after;

	(void)state;
	PLAN(&before, "f1", "f2", "f3", "f4");
	PLAN(&after, "f2", "f5");
	struct probe present[] = {
		attached(&before.probes[0], 10),
		attached(&before.probes[1], 11),
		probe_of(&before.probes[2], 1), /* never was */
		attached(&before.probes[3], 13),
	};
	present[3].status.attached = false; /* its process has ended, say */
	struct adopted adopted =
		adopt_plan(present, 4, after.probes, after.plan.n_probes, false, 9);
	assert_int_equal(adopted.n, 4);
	assert_int_equal(adopted.owners[0]->series, 11);
	assert_ptr_equal(adopted.owners[0]->plan, &before.probes[1]);
	assert_true(adopted.owners[0]->status.created_unix == 1);
	assert_int_equal(adopted.owners[1]->series, -1);
	assert_int_equal(adopted.probes[2].series, 10);
	assert_int_equal(adopted.probes[3].series, 13);
	release(&adopted);
}

static void a_label_in_use_is_not_given_twice(void **state)
{
	struct plans before, after;

	(void)state;
	PLAN(&before, "f");
	PLAN(&after, "f", "g");
	after.probes[0].function = &entry[1];
	struct probe present = attached(&before.probes[0], 5);
	struct adopted adopted =
		adopt_plan(&present, 1, after.probes, after.plan.n_probes, false, 9);
	assert_int_equal(adopted.n, 2);
	assert_null(adopted.owners[0]);
	assert_ptr_equal(adopted.owners[1], &adopted.probes[0]);
	assert_int_equal(adopted.probes[1].series, 5);
	release(&adopted);
	present.series = -1; /* nothing was measured: the new entry may have the label */
	present.status.attached = false;
	adopted = adopt_plan(&present, 1, after.probes, after.plan.n_probes, false, 9);
	assert_int_equal(adopted.n, 2);
	assert_ptr_equal(adopted.owners[0], &adopted.probes[0]);
	release(&adopted);
}

static void nothing_and_nothing(void **state)
{
	struct plans none;

	(void)state;
	PLAN(&none, NULL);
	struct adopted adopted = adopt_plan(NULL, 0, none.probes, none.plan.n_probes, false, 9);
	assert_int_equal(adopted.n, 0);
	release(&adopted);
}

/* Another config: what is configured as before goes on, and nothing else. */
static void another_config(void **state)
{
	static const struct spec_function same = {.symbol = "f*"}, changed = {.symbol = "x"};
	struct plans before, after;

	(void)state;
	PLAN(&before, "f1", "f2", "f3");
	PLAN(&after, "f1", "f2");
	struct probe present[] = {
		attached(&before.probes[0], 10), attached(&before.probes[1], 11),
		attached(&before.probes[2], 12), /* of a pattern */
	};
	after.probes[0].function = &same;
	after.probes[1].function = &changed;
	struct adopted adopted = adopt_plan(present, 3, after.probes, 2, true, 9);
	assert_int_equal(adopted.n, 3);
	assert_int_equal(adopted.owners[0]->series, 10);
	assert_int_equal(adopted.owners[1]->series, -1);
	assert_true(adopted.owners[1]->status.created_unix == 9);
	assert_false(adopted.owners[1]->status.attached);
	assert_int_equal(adopted.probes[2].series, 12);
	release(&adopted);
	after.probes[0].function = &changed; /* the pattern is gone */
	adopted = adopt_plan(present, 3, after.probes, 2, true, 9);
	assert_int_equal(adopted.n, 2);
	release(&adopted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_gives_way_to_its_matches),
		cmocka_unit_test(what_was_attached_stays),
		cmocka_unit_test(a_label_in_use_is_not_given_twice),
		cmocka_unit_test(another_config),
		cmocka_unit_test(nothing_and_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
