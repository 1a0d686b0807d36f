/*
 * The configured functions as a scrape shows them; for USDT probes, the label is `probe` instead of
 * `function`. Families of a function's data carry `target`, `function` and then its constant labels
 * in the order of their names, and those that are taken from processes, one function for each set
 * of values; families about the probe and its losses carry `target` and `function` only, which the
 * config keeps unique. Rows of the same labels are one function all the
 * same: their counts are summed, so that no series can come twice in a scrape.
 */
#ifndef COLLECT_FUNCTION_H
#define COLLECT_FUNCTION_H

#include <stdbool.h>

#include "collect/builder.h"
#include "collect/collect.h"

struct function {
	const struct label *labels; /* in the snapshot */
	size_t n_labels;
	const struct collect_row *row;
	const struct reading *reading; /* of the row, or of one of its sets */
	double created_unix;
	const struct function *same; /* the next row of the same labels; NULL at the end */
	bool follows;		     /* belongs to an earlier function's list */
};

/* How many of a function's labels to take. */
enum function_labels { FUNCTION_LABELS_NAME, FUNCTION_LABELS_ALL, FUNCTION_LABELS };

struct functions {
	const struct function *at; /* in the snapshot's arena */
	size_t n;
};

/*
 * One function a row, or a set of a row, in the rows' order. Those with `follows` are reached
 * through the `same` of the first with their labels.
 */
struct functions function_list(struct builder *builder, enum function_labels which,
			       const struct collect_row *rows, size_t n_rows);

#endif
