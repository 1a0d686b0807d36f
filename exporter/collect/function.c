/* Rows become functions: their labels, and which rows share them. */
#include "collect/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void set_labels(struct builder *builder, enum function_labels which,
		       struct function *function)
{
	const struct plan_probe *probe = function->row->probe;
	const struct spec_function *spec = probe->function;
	size_t n_constant = which == FUNCTION_LABELS_ALL ? spec->n_labels : 0;
	size_t n = 2 + n_constant;
	struct label *labels = arena_array(&builder->snapshot->arena, n, sizeof(*labels));

	labels[0] = (struct label){"target", builder_text(builder, probe->target->name)};
	labels[1] = (struct label){spec_is_usdt(spec) ? "probe" : "function",
				   builder_text(builder, probe->label)};
	for (size_t i = 0; i < n_constant; i++) {
		labels[2 + i].name = builder_text(builder, spec->labels[i].name);
		labels[2 + i].value = builder_text(builder, spec->labels[i].value);
	}
	function->labels = labels;
	function->n_labels = n;
}

static int compare_labels(const struct function *a, const struct function *b)
{
	if (a->n_labels != b->n_labels)
		return a->n_labels < b->n_labels ? -1 : 1;
	for (size_t i = 0; i < a->n_labels; i++) {
		int order = strcmp(a->labels[i].name, b->labels[i].name);
		if (order == 0)
			order = strcmp(a->labels[i].value, b->labels[i].value);
		if (order)
			return order;
	}
	return 0;
}

/* By the labels, and within those by the rows' order. */
static int compare(const void *a, const void *b)
{
	const struct function *x = *(struct function *const *)a, *y = *(struct function *const *)b;
	int order = compare_labels(x, y);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void chain_equals(struct function *functions, size_t n)
{
	_cleanup_free_ struct function **sorted = alloc_zero(n, sizeof(struct function *));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &functions[i];
	qsort(sorted, n, sizeof(struct function *), compare);
	for (size_t i = 1; i < n; i++)
		if (compare_labels(sorted[i - 1], sorted[i]) == 0) {
			sorted[i - 1]->same = sorted[i];
			sorted[i]->follows = true;
		}
}

const struct function *function_list(struct builder *builder, enum function_labels which,
				     const struct collect_row *rows, size_t n_rows)
{
	struct function *functions =
		arena_array(&builder->snapshot->arena, n_rows, sizeof(*functions));

	for (size_t i = 0; i < n_rows; i++) {
		functions[i].row = &rows[i];
		set_labels(builder, which, &functions[i]);
	}
	chain_equals(functions, n_rows);
	return functions;
}
