/*
 * The configured functions as a scrape shows them. A function's identity is its labels: target,
 * function, then its constant labels in the order of their names; all families of functions carry
 * exactly these (and then their own), so that they join. Rows of one identity are one function:
 * their counts are summed, so that no series can come twice.
 */
#ifndef COLLECT_FUNCTION_H
#define COLLECT_FUNCTION_H

#include <stdbool.h>

#include "collect/builder.h"
#include "collect/collect.h"

struct function {
	const struct label *labels; /* the identity, in the snapshot */
	size_t n_labels;
	const struct collect_row *row;
	const struct function *same; /* the next row of this identity; NULL at the end */
	bool follows;		     /* belongs to an earlier function's list */
};

/*
 * One function a row, in the rows' order, in the snapshot's arena. Those with `follows` are
 * reached through the `same` of the first of their identity.
 */
const struct function *function_list(struct builder *builder, const struct collect_row *rows,
				     size_t n_rows);

#endif
