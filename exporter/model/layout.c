/* Cell layouts: the union of the native edges and the config's bounds, and its search table. */
#include "model/layout.h"

#include <string.h>

enum { OCTAVE = 1 << LAYOUT_SCHEMA, MAX_NATIVE = LAYOUT_NATIVE_LAST - LAYOUT_NATIVE_FIRST + 1 };

_Static_assert(1 + MAX_NATIVE + UP_MAX_BOUNDS <= UP_MAX_EDGES, "zero, native edges and bounds fit");
_Static_assert(OCTAVE == 8, "up_stride() takes three bits, as many strides as native buckets");

/* floor(2^63 * 2^(r/8)). The error is below one part in 2^63; tests/unit/model/layout_test.c
 * proves in exact arithmetic that no edge in use comes out wrong. */
static const uint64_t root_of_two[OCTAVE] = {
	0x8000000000000000, 0x8b95c1e3ea8bd6e6, 0x9837f0518db8a96f, 0xa5fed6a9b15138ea,
	0xb504f333f9de6484, 0xc5672a115506dadd, 0xd744fccad69d6af4, 0xeac0c6e7dd24392e,
};

uint64_t layout_native_edge_ns(int index)
{
	int octave = index >> LAYOUT_SCHEMA; /* floor, also of a negative index */
	unsigned __int128 edge = (unsigned __int128)1000000000 * root_of_two[index & (OCTAVE - 1)];

	if (octave < -30) /* the first octave below 1 ns */
		return 0;
	if (octave > 34) /* 2^35 s does not fit */
		return UINT64_MAX;
	edge >>= 63 - octave;
	return edge > UINT64_MAX ? UINT64_MAX : (uint64_t)edge;
}

int layout_native_index(uint64_t edge_ns)
{
	int lo = LAYOUT_NATIVE_FIRST, hi = LAYOUT_NATIVE_LAST + 1;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;
		if (layout_native_edge_ns(mid) >= edge_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void add_edge(struct up_bounds *table, uint64_t edge_ns)
{
	if (table->n_edges == 0 || table->edge[table->n_edges - 1] < edge_ns)
		table->edge[table->n_edges++] = edge_ns;
}

/* The least whole number of nanoseconds that is not below the stride; some of the first strides
 * hold no whole number: theirs is the next stride's. */
static uint64_t stride_least_ns(unsigned stride)
{
	unsigned top = stride / OCTAVE;
	uint64_t eighths = OCTAVE + stride % OCTAVE;

	if (top >= LAYOUT_SCHEMA)
		return eighths << (top - LAYOUT_SCHEMA);
	return stride == 0 ? 0 : ((eighths << top) + OCTAVE - 1) / OCTAVE;
}

static void index_strides(struct up_bounds *table)
{
	uint32_t cell = 0;

	for (unsigned stride = 0; stride < UP_STRIDES; stride++) {
		while (cell < table->n_edges && table->edge[cell] < stride_least_ns(stride))
			cell++;
		table->start[stride] = (uint16_t)cell;
	}
	table->start[UP_STRIDES] = (uint16_t)table->n_edges;
}

void layout_build(struct buckets buckets, struct up_bounds *table)
{
	size_t bound = 0;

	memset(table, 0, sizeof(*table));
	add_edge(table, 0);
	for (int index = LAYOUT_NATIVE_FIRST; index <= LAYOUT_NATIVE_LAST; index++) {
		uint64_t native_ns = layout_native_edge_ns(index);
		while (bound < buckets.n && buckets.bound_ns[bound] <= native_ns)
			add_edge(table, buckets.bound_ns[bound++]);
		add_edge(table, native_ns);
	}
	while (bound < buckets.n)
		add_edge(table, buckets.bound_ns[bound++]);
	table->slots = table->n_edges + 1 <= UP_SLOT_CELLS ? 1 : 2;
	index_strides(table);
}
