/*
 * Cells become a histogram. The cells of a series are counts between ascending edges that hold
 * the classic and the native bounds both (model/layout.h), so every bucket is a sum of cells.
 */
#ifndef COLLECT_HIST_H
#define COLLECT_HIST_H

#include <stdint.h>

#include "base/arena.h"
#include "bpf/contract.h"
#include "model/snapshot.h"
#include "model/spec.h"

/*
 * Add the cells of a reading with layout `from` to `into`, cells of layout `to`. Between equal
 * layouts exact; otherwise a cell goes where its upper edge goes.
 */
void hist_add_cells(const struct up_bounds *from, const uint64_t *cells, const struct up_bounds *to,
		    uint64_t *into);

/*
 * The histogram of `cells` (layout->n_edges + 1 of them) for classic buckets at `buckets`, whose
 * bounds are among the layout's edges. Calls beyond the last edge count above every classic bound
 * and in the native bucket LAYOUT_NATIVE_LAST + 1. Lives in `arena`; borrows buckets.bound_ns.
 */
const struct histogram *hist_fold(struct arena *arena, struct buckets buckets,
				  const struct up_bounds *layout, const uint64_t *cells,
				  uint64_t sum_ns);

#endif
