/* Cells become classic and native buckets. */
#include "collect/hist.h"

#include "bpf/cells.h"
#include "model/layout.h"

void hist_add_cells(const struct up_bounds *from, const uint64_t *cells, const struct up_bounds *to,
		    uint64_t *into)
{
	for (uint32_t i = 0; i < from->n_edges; i++)
		if (cells[i])
			into[up_cell(to, from->edge[i])] += cells[i];
	into[to->n_edges] += cells[from->n_edges];
}

static void fold_classic(struct histogram *histogram, const struct up_bounds *layout,
			 const uint64_t *cells, uint64_t *bucket)
{
	size_t i = 0;

	for (uint32_t cell = 0; cell <= layout->n_edges; cell++) {
		while (i < histogram->n_bounds &&
		       (cell == layout->n_edges || layout->edge[cell] > histogram->bound_ns[i]))
			i++;
		bucket[i] += cells[cell];
		histogram->count += cells[cell];
	}
	histogram->bucket = bucket;
}

/* Cell 0 is the zero bucket and has no part here. */
static void fold_native(struct histogram *histogram, const struct up_bounds *layout,
			const uint64_t *cells, struct native_bucket *native)
{
	size_t n = 0;

	for (uint32_t cell = 1; cell <= layout->n_edges; cell++) {
		if (!cells[cell])
			continue;
		int index = cell == layout->n_edges ? LAYOUT_NATIVE_LAST + 1
						    : layout_native_index(layout->edge[cell]);
		if (n == 0 || native[n - 1].index != index)
			native[n++].index = index;
		native[n - 1].count += cells[cell];
	}
	histogram->native = native;
	histogram->n_native = n;
}

static size_t count_filled(const uint64_t *cells, size_t n)
{
	size_t filled = 0;

	for (size_t i = 0; i < n; i++)
		filled += cells[i] != 0;
	return filled;
}

const struct histogram *hist_fold(struct arena *arena, struct buckets buckets,
				  const struct up_bounds *layout, const uint64_t *cells,
				  uint64_t sum_ns)
{
	struct histogram *histogram = arena_alloc(arena, sizeof(*histogram));

	histogram->sum_ns = sum_ns;
	histogram->bound_ns = buckets.bound_ns;
	histogram->n_bounds = buckets.n;
	histogram->zero_count = cells[0];
	fold_classic(histogram, layout, cells,
		     arena_array(arena, buckets.n + 1, sizeof(*histogram->bucket)));
	fold_native(histogram, layout, cells,
		    arena_array(arena, count_filled(cells, layout->n_edges + 1),
				sizeof(*histogram->native)));
	return histogram;
}
