/*
 * The cell layout of a histogram: the union of the config's bucket bounds and the exponential
 * bounds of Prometheus native schema 3 (OTLP scale 3), as one ascending list of integer
 * nanoseconds. Classic and native buckets are sums of the same cells, so they cannot disagree.
 */
#ifndef MODEL_LAYOUT_H
#define MODEL_LAYOUT_H

#include <stdint.h>

#include "bpf/contract.h"
#include "model/spec.h"

/*
 * Native bucket i covers (2^((i-1)/8), 2^(i/8)] seconds (Prometheus schema 3). Durations are
 * whole nanoseconds, so the floored edge separates them exactly as the true one does.
 */
#define LAYOUT_SCHEMA	    3
#define LAYOUT_NATIVE_FIRST (-239) /* floor(1e9 * 2^(-239/8)) = 1 ns; -240 would be 0 */
#define LAYOUT_NATIVE_LAST  104	   /* 2^13 s: the last edge that is <= LAYOUT_TOP_NS */
#define LAYOUT_TOP_NS	    ((uint64_t)1 << 43) /* no edge above; longer durations are overflow */

/*
 * Fill `table` for these buckets: ascending, distinct, > 0, at most UP_MAX_BOUNDS of them, as
 * config/ checks. Edge 0 is 0 ns, so cell 0 counts durations of exactly 0. The same buckets give
 * the same table, so that a reader can build again what the kernel was given.
 */
void layout_build(struct buckets buckets, struct up_bounds *table);

/* floor(1e9 * 2^(index/8)): the native upper edge in whole nanoseconds; 0 below
 * LAYOUT_NATIVE_FIRST, UINT64_MAX where it does not fit. */
uint64_t layout_native_edge_ns(int index);

/*
 * The native bucket of the cell whose upper edge is `edge_ns` (> 0): the least index whose edge
 * is >= edge_ns. LAYOUT_NATIVE_LAST + 1 for all edges above the last native one, and so for the
 * overflow cell: longer durations cannot be told apart.
 */
int layout_native_index(uint64_t edge_ns);

#endif
