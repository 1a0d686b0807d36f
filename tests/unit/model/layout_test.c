/* The cell layout against a linear search and exact arithmetic. */
#include "model/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/cells.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- exact arithmetic: numbers of 480 bits, enough for (2^44)^8 and 10^72 * 2^104 ---- */

enum { LIMBS = 15 };
struct big {
	uint32_t limb[LIMBS]; /* least first */
};

static void big_multiply(struct big *n, uint64_t factor)
{
	unsigned __int128 carry = 0;

	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)n->limb[i] * factor;
		n->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	assert_true(carry == 0);
}

static struct big big_power(uint64_t base, int exponent)
{
	struct big n = {{1}};

	while (exponent-- > 0)
		big_multiply(&n, base);
	return n;
}

static int big_compare(const struct big *a, const struct big *b)
{
	for (int i = LIMBS - 1; i >= 0; i--)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/* ns <= 1e9 * 2^(index/8), as both sides to the 8th power: ns^8 <= 10^72 * 2^index. */
static bool at_most_edge(uint64_t ns, int index)
{
	struct big left = big_power(ns, 8), right = big_power(10, 72);

	for (; index > 0; index--)
		big_multiply(&right, 2);
	for (; index < 0; index++)
		big_multiply(&left, 2);
	return big_compare(&left, &right) <= 0;
}

/* ---- tables to try ---- */

static uint64_t random_state = 88172645463325252U;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

struct bounds_set {
	size_t n;
	uint64_t ns[UP_MAX_BOUNDS];
};

static struct buckets buckets_of(const struct bounds_set *set)
{
	return (struct buckets){.bound_ns = set->ns, .n = set->n};
}

static struct bounds_set bounds_default(void)
{
	static const uint64_t steps[] = {1000, 2500, 5000};
	struct bounds_set set = {0};

	for (uint64_t scale = 1; scale <= 1000000; scale *= 10)
		for (size_t i = 0; i < COUNT(steps); i++)
			set.ns[set.n++] = steps[i] * scale;
	set.ns[set.n++] = 10000000000;
	return set;
}

/* 255 bounds from `first` on, `step` apart. */
static struct bounds_set bounds_dense(uint64_t first, uint64_t step)
{
	struct bounds_set set = {.n = UP_MAX_BOUNDS};

	for (size_t i = 0; i < set.n; i++)
		set.ns[i] = first + step * i;
	return set;
}

static struct bounds_set bounds_random(void)
{
	struct bounds_set set = {0};
	size_t n = 0;

	for (size_t i = 0; i < UP_MAX_BOUNDS; i++)
		set.ns[i] = 1 + random_u64() % ((uint64_t)1 << (1 + random_u64() % 43));
	qsort(set.ns, UP_MAX_BOUNDS, sizeof(set.ns[0]), compare_u64);
	for (size_t i = 0; i < UP_MAX_BOUNDS; i++)
		if (n == 0 || set.ns[n - 1] != set.ns[i])
			set.ns[n++] = set.ns[i];
	set.n = n;
	return set;
}

enum { SETS = 40 };

static struct bounds_set nth_set(int i)
{
	switch (i) {
	case 0:
		return (struct bounds_set){0};
	case 1:
		return bounds_default();
	case 2:
		return bounds_dense(1, 1);
	case 3:
		return bounds_dense(((uint64_t)1 << 40) + 7, 3); /* all in one stride */
	case 4:
		return bounds_dense(LAYOUT_TOP_NS - UP_MAX_BOUNDS + 1, 1); /* up to the top */
	case 5:
		return (struct bounds_set){.n = 2, .ns = {1, LAYOUT_TOP_NS}};
	case 6:
		return bounds_dense((uint64_t)1 << 62, 977); /* above the top: still right */
	default:
		return bounds_random();
	}
}

static uint32_t cell_by_definition(const struct up_bounds *table, uint64_t ns)
{
	uint32_t cell = 0;

	while (cell < table->n_edges && ns > table->edge[cell])
		cell++;
	return cell;
}

/* ---- tests ---- */

static void native_edges_are_true_floors(void **state)
{
	(void)state;
	for (int i = LAYOUT_NATIVE_FIRST; i <= LAYOUT_NATIVE_LAST + 1; i++) {
		uint64_t edge_ns = layout_native_edge_ns(i);
		assert_true(at_most_edge(edge_ns, i));
		assert_false(at_most_edge(edge_ns + 1, i));
	}
	assert_true(layout_native_edge_ns(LAYOUT_NATIVE_FIRST) == 1);
	assert_true(layout_native_edge_ns(LAYOUT_NATIVE_FIRST - 1) == 0);
	assert_true(layout_native_edge_ns(LAYOUT_NATIVE_LAST) <= LAYOUT_TOP_NS);
	assert_true(layout_native_edge_ns(LAYOUT_NATIVE_LAST + 1) > LAYOUT_TOP_NS);
	assert_true(layout_native_edge_ns(0) == 1000000000);
	assert_true(layout_native_edge_ns(-8) == 500000000);
}

static void native_edges_saturate(void **state)
{
	(void)state;
	assert_true(layout_native_edge_ns(-100000) == 0);
	assert_true(layout_native_edge_ns(34 * 8) == (uint64_t)1000000000 << 34);
	assert_true(layout_native_edge_ns(34 * 8 + 1) == UINT64_MAX);
	assert_true(layout_native_edge_ns(100000) == UINT64_MAX);
}

/* The least index i with ns <= 2^(i/8) seconds, told exactly. */
static void native_index_follows_the_prometheus_rule(void **state)
{
	uint64_t tries[3000];
	size_t n = 0;

	(void)state;
	for (int i = LAYOUT_NATIVE_FIRST; i <= LAYOUT_NATIVE_LAST; i++)
		for (int step = -1; step <= 1; step++)
			tries[n++] = layout_native_edge_ns(i) + (uint64_t)step;
	while (n < COUNT(tries))
		tries[n++] = 1 + random_u64() % ((uint64_t)1 << (1 + random_u64() % 42));
	for (size_t i = 0; i < n; i++) {
		int index = layout_native_index(tries[i]);
		if (tries[i] == 0 || tries[i] > layout_native_edge_ns(LAYOUT_NATIVE_LAST + 1))
			continue;
		assert_true(at_most_edge(tries[i], index));
		if (index > LAYOUT_NATIVE_FIRST)
			assert_false(at_most_edge(tries[i], index - 1));
	}
	assert_int_equal(layout_native_index(1), LAYOUT_NATIVE_FIRST);
	assert_int_equal(layout_native_index(LAYOUT_TOP_NS), LAYOUT_NATIVE_LAST + 1);
	assert_int_equal(layout_native_index(UINT64_MAX), LAYOUT_NATIVE_LAST + 1);
}

static bool has_edge(const struct up_bounds *table, uint64_t edge_ns)
{
	return bsearch(&edge_ns, table->edge, table->n_edges, sizeof(edge_ns), compare_u64) != NULL;
}

static void tables_are_the_sorted_union(void **state)
{
	static struct up_bounds table;

	(void)state;
	for (int s = 0; s < SETS; s++) {
		struct bounds_set set = nth_set(s);
		layout_build(buckets_of(&set), &table);
		size_t shared = 0, natives = 0;
		for (int i = LAYOUT_NATIVE_FIRST; i <= LAYOUT_NATIVE_LAST; i++) {
			uint64_t edge_ns = layout_native_edge_ns(i);
			assert_true(has_edge(&table, edge_ns));
			if (i > LAYOUT_NATIVE_FIRST && layout_native_edge_ns(i - 1) == edge_ns)
				continue;
			natives++;
			shared += bsearch(&edge_ns, set.ns, set.n, sizeof(edge_ns), compare_u64) !=
				  NULL;
		}
		for (size_t i = 0; i < set.n; i++)
			assert_true(has_edge(&table, set.ns[i]));
		assert_true(table.edge[0] == 0);
		assert_int_equal(table.n_edges, 1 + natives + set.n - shared);
		for (uint32_t i = 1; i < table.n_edges; i++)
			assert_true(table.edge[i - 1] < table.edge[i]);
		assert_int_equal(table.slots, table.n_edges + 1 > UP_SLOT_CELLS ? 2 : 1);
	}
}

static void default_buckets_take_one_slot(void **state)
{
	struct up_bounds table;
	struct bounds_set set = bounds_default(), dense = bounds_dense(1000001, 1000000);

	(void)state;
	assert_int_equal(set.n, 22);
	layout_build(buckets_of(&set), &table);
	assert_int_equal(table.slots, 1);
	layout_build(buckets_of(&dense), &table);
	assert_int_equal(table.slots, 2);
}

static void strides_are_monotone(void **state)
{
	static struct up_bounds table;

	(void)state;
	for (int s = 0; s < SETS; s++) {
		struct bounds_set set = nth_set(s);
		layout_build(buckets_of(&set), &table);
		for (int i = 0; i < UP_STRIDES; i++)
			assert_true(table.start[i] <= table.start[i + 1]);
		assert_int_equal(table.start[0], 0);
		assert_int_equal(table.start[UP_STRIDES], table.n_edges);
	}
}

static void check_cell(const struct up_bounds *table, uint64_t ns)
{
	uint32_t cell = up_cell(table, ns), wanted = cell_by_definition(table, ns);

	if (cell != wanted)
		fail_msg("%llu ns: cell %u, wanted %u", (unsigned long long)ns, cell, wanted);
}

static void cells_equal_a_linear_search(void **state)
{
	static struct up_bounds table;

	(void)state;
	for (int s = 0; s < SETS; s++) {
		struct bounds_set set = nth_set(s);
		layout_build(buckets_of(&set), &table);
		for (uint64_t ns = 0; ns < 4096; ns++)
			check_cell(&table, ns);
		for (uint32_t i = 0; i < table.n_edges; i++)
			for (int step = -2; step <= 2; step++)
				check_cell(&table, table.edge[i] + (uint64_t)step);
		for (int bit = 0; bit < 64; bit++)
			for (int step = -1; step <= 1; step++)
				check_cell(&table, ((uint64_t)1 << bit) + (uint64_t)step);
		for (int i = 0; i < 50000; i++)
			check_cell(&table, random_u64() >> (random_u64() % 64));
		check_cell(&table, UINT64_MAX);
	}
}

/* A duration of exactly a bound belongs to that bound's bucket, classic and native. */
static void a_value_on_a_bound_lands_in_its_bucket(void **state)
{
	static struct up_bounds table;

	(void)state;
	for (int s = 0; s < SETS; s++) {
		struct bounds_set set = nth_set(s);
		layout_build(buckets_of(&set), &table);
		for (size_t i = 0; i < set.n; i++) {
			assert_true(table.edge[up_cell(&table, set.ns[i])] == set.ns[i]);
			assert_true(up_cell(&table, set.ns[i] + 1) ==
				    up_cell(&table, set.ns[i]) + 1);
		}
		for (int i = LAYOUT_NATIVE_FIRST; i <= LAYOUT_NATIVE_LAST; i++) {
			uint64_t edge_ns = layout_native_edge_ns(i);
			uint64_t cell_edge_ns = table.edge[up_cell(&table, edge_ns)];
			assert_true(layout_native_edge_ns(layout_native_index(cell_edge_ns)) ==
				    edge_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_edges_are_true_floors),
		cmocka_unit_test(native_edges_saturate),
		cmocka_unit_test(native_index_follows_the_prometheus_rule),
		cmocka_unit_test(tables_are_the_sorted_union),
		cmocka_unit_test(default_buckets_take_one_slot),
		cmocka_unit_test(strides_are_monotone),
		cmocka_unit_test(cells_equal_a_linear_search),
		cmocka_unit_test(a_value_on_a_bound_lands_in_its_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
