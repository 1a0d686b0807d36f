/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which cell a duration falls into. One function for the kernel programs and for the exporter's
 * tests: what is tested is what runs.
 */
#ifndef UP_CELLS_H
#define UP_CELLS_H

#include "contract.h"

/* Steps of the binary search over one stride: enough for every edge of a table in one stride. */
#define UP_CELL_SEARCH_STEPS 10

/* The position of the leading bit of `v` > 0. By hand: clang 14 crashes on clz for BPF. */
static inline __u32 up_leading_bit(__u64 v)
{
	__u32 bit = 0;

	for (__u32 step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			bit += step;
		}
	}
	return bit;
}

/*
 * The stride of a value: its leading bit and the three bits after it; 0..UP_STRIDES-1.
 * Values below 8 have fewer than three bits after the leading one: those bits read as zero.
 * The range of the result is that of its bits: a comparison to limit it may be compiled to a form
 * through which old verifiers (6.1) do not follow it.
 */
static inline __u32 up_stride(__u64 ns)
{
	if (ns < 2)
		return 0;
	__u32 top = up_leading_bit(ns);
	__u32 next = top >= 3 ? (ns >> (top - 3)) & 7 : (ns << (3 - top)) & 7;
	return top * 8 + next;
}

/* The index of the first edge that is >= ns, or n_edges (overflow). */
static inline __u32 up_cell(const struct up_bounds *b, __u64 ns)
{
	__u32 stride = up_stride(ns);
	__u32 lo = b->start[stride], hi = b->start[stride + 1];

	for (int i = 0; i < UP_CELL_SEARCH_STEPS && lo < hi; i++) {
		__u32 mid = (lo + hi) / 2;
		if (mid >= UP_MAX_EDGES)
			break;
		if (ns <= b->edge[mid])
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

#endif
