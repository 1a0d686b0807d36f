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

/* Native bucket i covers (2^((i-1)/8), 2^(i/8)] seconds (Prometheus schema 3). */
#define LAYOUT_SCHEMA 3
#define LAYOUT_NATIVE_FIRST (-239) /* upper edge floor(1e9 * 2^(-239/8)) = 1 ns */
#define LAYOUT_TOP_NS ((uint64_t)1 << 43) /* cells span up to here; above is overflow */

/*
 * Fill `table` for these buckets (at most UP_MAX_BOUNDS, validated by config/). Edge 0 is 0 ns.
 * A bound above LAYOUT_TOP_NS gets an edge as well.
 */
void layout_build(struct buckets buckets, struct up_bounds *table);

/* floor(1e9 * 2^(index/8)): the native upper edge in whole nanoseconds. */
uint64_t layout_native_edge_ns(int index);

/* The native bucket that holds a cell whose upper edge is `edge_ns` (> 0): the least index whose
 * edge is >= edge_ns. */
int layout_native_index(uint64_t edge_ns);

#endif
