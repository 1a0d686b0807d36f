/* Cells to buckets: durations put in through the kernel's own cell function. */
#include "collect/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/cells.h"
#include "model/layout.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct arena arena;

static int begin(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static const uint64_t some_bounds[] = {1000, 2500, 1000000, 1000000000, LAYOUT_TOP_NS};
static const struct buckets some = {some_bounds, COUNT(some_bounds)};
static const struct buckets none = {NULL, 0};

/* The histogram of these durations. */
static const struct histogram *observe(struct buckets buckets, const uint64_t *ns, size_t n)
{
	static struct up_bounds layout;
	uint64_t cells[UP_MAX_EDGES + 1] = {0}, sum_ns = 0;

	layout_build(buckets, &layout);
	for (size_t i = 0; i < n; i++) {
		cells[up_cell(&layout, ns[i])]++;
		sum_ns += ns[i];
	}
	return hist_fold(&arena, buckets, &layout, cells, sum_ns);
}

static uint64_t native_total(const struct histogram *histogram)
{
	uint64_t total = histogram->zero_count;

	for (size_t i = 0; i < histogram->n_native; i++) {
		assert_true(histogram->native[i].count > 0);
		if (i > 0)
			assert_true(histogram->native[i - 1].index < histogram->native[i].index);
		total += histogram->native[i].count;
	}
	return total;
}

static uint64_t classic_total(const struct histogram *histogram)
{
	uint64_t total = 0;

	for (size_t i = 0; i <= histogram->n_bounds; i++)
		total += histogram->bucket[i];
	return total;
}

static void an_idle_series_has_zero_buckets(void **state)
{
	const struct histogram *histogram = observe(some, NULL, 0);

	(void)state;
	assert_int_equal(histogram->n_bounds, COUNT(some_bounds));
	assert_int_equal(histogram->count, 0);
	assert_int_equal(classic_total(histogram), 0);
	assert_int_equal(histogram->n_native, 0);
	assert_int_equal(histogram->zero_count, 0);
}

static void bounds_are_inclusive(void **state)
{
	static const uint64_t ns[] = {0,
				      1,
				      999,
				      1000,
				      1001,
				      2500,
				      2501,
				      1000000,
				      1000000000,
				      1000000001,
				      1 + LAYOUT_TOP_NS,
				      LAYOUT_TOP_NS,
				      UINT64_MAX};
	static const uint64_t wanted[] = {4, 2, 2, 1, 2, 2};
	const struct histogram *histogram = observe(some, ns, COUNT(ns));

	(void)state;
	assert_memory_equal(histogram->bucket, wanted, sizeof(wanted));
	assert_int_equal(histogram->count, COUNT(ns));
	assert_int_equal(histogram->zero_count, 1);
	assert_int_equal(native_total(histogram), COUNT(ns));
}

static void no_bounds_leave_one_bucket(void **state)
{
	static const uint64_t ns[] = {0, 5, 1000000000, UINT64_MAX};
	const struct histogram *histogram = observe(none, ns, COUNT(ns));

	(void)state;
	assert_int_equal(histogram->n_bounds, 0);
	assert_int_equal(histogram->bucket[0], 4);
	assert_int_equal(native_total(histogram), 4);
}

static void powers_of_two_seconds_are_native_bounds(void **state)
{
	static const struct {
		uint64_t ns;
		int index;
	} examples[] = {
		{1, LAYOUT_NATIVE_FIRST},
		{500000000, -8},
		{500000001, -7},
		{1000000000, 0},
		{1000000001, 1},
		{2000000000, 8},
		{8192000000000, LAYOUT_NATIVE_LAST},
		{8192000000001, LAYOUT_NATIVE_LAST + 1}, /* below the bound 2^43 ns */
		{LAYOUT_TOP_NS + 1, LAYOUT_NATIVE_LAST + 1},
		{UINT64_MAX, LAYOUT_NATIVE_LAST + 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		const struct histogram *histogram = observe(some, &examples[i].ns, 1);
		assert_int_equal(histogram->n_native, 1);
		assert_int_equal(histogram->native[0].index, examples[i].index);
		assert_int_equal(histogram->native[0].count, 1);
	}
}

/* Two cells that a custom bound splits are one native bucket. */
static void cells_of_one_native_bucket_are_summed(void **state)
{
	static const uint64_t bound[] = {950000000}; /* within (2^(-1/8), 1] s */
	static const uint64_t ns[] = {940000000, 960000000, 1000000000};
	const struct histogram *histogram = observe((struct buckets){bound, 1}, ns, COUNT(ns));

	(void)state;
	assert_int_equal(histogram->n_native, 1);
	assert_int_equal(histogram->native[0].index, 0);
	assert_int_equal(histogram->native[0].count, 3);
	assert_int_equal(histogram->bucket[0], 1);
	assert_int_equal(histogram->bucket[1], 2);
}

static uint64_t random_state = 88172645463325252U;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void both_layouts_agree_on_every_duration(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t ns = random_u64() >> (21 + random_u64() % 43);
		const struct histogram *histogram = observe(some, &ns, 1);
		size_t bucket = 0;
		while (bucket < some.n && ns > some.bound_ns[bucket])
			bucket++;
		assert_int_equal(histogram->bucket[bucket], 1);
		assert_int_equal(classic_total(histogram), 1);
		assert_int_equal(native_total(histogram), 1);
		assert_true(histogram->sum_ns == ns);
		if (ns > 0) {
			int index = histogram->native[0].index;
			assert_true(ns <= layout_native_edge_ns(index));
			if (index > LAYOUT_NATIVE_FIRST)
				assert_true(ns > layout_native_edge_ns(index - 1));
		}
		arena_fini(&arena);
	}
}

static void counts_beyond_doubles_stay_exact(void **state)
{
	static struct up_bounds layout;
	uint64_t cells[UP_MAX_EDGES + 1] = {0};

	(void)state;
	layout_build(some, &layout);
	cells[up_cell(&layout, 1000)] = (1ULL << 53) + 1;
	cells[up_cell(&layout, 2000)] = UINT32_MAX;
	const struct histogram *histogram =
		hist_fold(&arena, some, &layout, cells, (1ULL << 53) + 1);
	assert_true(histogram->bucket[0] == (1ULL << 53) + 1);
	assert_true(histogram->count == (1ULL << 53) + 1 + UINT32_MAX);
	assert_true(histogram->sum_ns == (1ULL << 53) + 1);
}

static void adding_keeps_every_count(void **state)
{
	static const uint64_t other_bounds[] = {7, 1000, 123456, 2000000000};
	static struct up_bounds from, to;
	uint64_t cells[UP_MAX_EDGES + 1], into[UP_MAX_EDGES + 1] = {0},
							      same[UP_MAX_EDGES + 1] = {0};
	uint64_t total = 0, kept = 0;

	(void)state;
	layout_build((struct buckets){other_bounds, COUNT(other_bounds)}, &from);
	layout_build(some, &to);
	for (uint32_t i = 0; i <= from.n_edges; i++)
		total += cells[i] = i + 1;
	hist_add_cells(&from, cells, &to, into);
	for (uint32_t i = 0; i <= to.n_edges; i++)
		kept += into[i];
	assert_int_equal(kept, total);
	assert_true(into[to.n_edges] == cells[from.n_edges]);
	assert_true(into[up_cell(&to, 1000)] == cells[up_cell(&from, 1000)]);
	hist_add_cells(&from, cells, &from, same);
	assert_memory_equal(same, cells, (from.n_edges + 1) * sizeof(cells[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_idle_series_has_zero_buckets, begin, end),
		cmocka_unit_test_setup_teardown(bounds_are_inclusive, begin, end),
		cmocka_unit_test_setup_teardown(no_bounds_leave_one_bucket, begin, end),
		cmocka_unit_test_setup_teardown(powers_of_two_seconds_are_native_bounds, begin,
						end),
		cmocka_unit_test_setup_teardown(cells_of_one_native_bucket_are_summed, begin, end),
		cmocka_unit_test_setup_teardown(both_layouts_agree_on_every_duration, begin, end),
		cmocka_unit_test_setup_teardown(counts_beyond_doubles_stay_exact, begin, end),
		cmocka_unit_test_setup_teardown(adding_keeps_every_count, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
