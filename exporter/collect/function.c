/* Rows become functions: their labels, and which rows share them. */
#include "collect/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static struct label *put_labels(struct builder *builder, struct label *labels,
				const struct spec_label *more, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*labels++ = (struct label){builder_text(builder, more[i].name),
					   builder_text(builder, more[i].value)};
	return labels;
}

/* `set` is NULL for a function of its name only, or without labels from processes. */
static void set_labels(struct builder *builder, enum function_labels which,
		       const struct collect_set *set, struct function *function)
{
	const struct plan_probe *probe = function->row->probe;
	const struct spec_function *spec = probe->function;
	size_t n_constant = which == FUNCTION_LABELS_ALL ? spec->n_labels : 0;
	size_t n = 2 + n_constant + (set ? set->n_labels : 0);
	struct label *labels = arena_array(&builder->snapshot->arena, n, sizeof(*labels));

	labels[0] = (struct label){"target", builder_text(builder, probe->target->name)};
	labels[1] = (struct label){spec_is_usdt(spec) ? "probe" : "function",
				   builder_text(builder, probe->label)};
	struct label *next = put_labels(builder, &labels[2], spec->labels, n_constant);
	if (set)
		put_labels(builder, next, set->labels, set->n_labels);
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

static size_t count_functions(enum function_labels which, const struct collect_row *rows,
			      size_t n_rows)
{
	size_t n = 0;

	for (size_t i = 0; i < n_rows; i++)
		n += which == FUNCTION_LABELS_ALL && rows[i].n_sets ? rows[i].n_sets : 1;
	return n;
}

/* The functions of one row; the end of them. */
static struct function *put_row(struct builder *builder, enum function_labels which,
				const struct collect_row *row, struct function *next)
{
	bool by_set = which == FUNCTION_LABELS_ALL && row->n_sets;

	for (size_t i = 0; i < (by_set ? row->n_sets : 1); i++, next++) {
		const struct collect_set *set = by_set ? &row->sets[i] : NULL;
		next->row = row;
		next->reading = set ? &set->reading : &row->reading;
		next->created_unix = set ? set->created_unix : row->status.created_unix;
		set_labels(builder, which, set, next);
	}
	return next;
}

struct functions function_list(struct builder *builder, enum function_labels which,
			       const struct collect_row *rows, size_t n_rows)
{
	size_t n = count_functions(which, rows, n_rows);
	struct function *functions = arena_array(&builder->snapshot->arena, n, sizeof(*functions));
	struct function *next = functions;

	for (size_t i = 0; i < n_rows; i++)
		next = put_row(builder, which, &rows[i], next);
	chain_equals(functions, n);
	return (struct functions){functions, n};
}
