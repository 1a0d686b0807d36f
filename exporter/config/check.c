/*
 * Cross-field rules: names that must differ, and totals that must fit the limits. A target or
 * function whose own keys were wrong may lack its name; it is passed over here.
 */
#include "config/check.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/contract.h"
#include "config/parse_labels_from.h"

/* ---- names that must differ ---- */

struct named {
	const char *name;
	struct span place;
	const struct spec_function *function; /* NULL for targets */
};

struct names {
	VEC(struct named) list;
};

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	return (a->place.start > b->place.start) - (a->place.start < b->place.start);
}

/* Tell `say` of each name that an earlier place has as well. */
static void find_duplicates(struct report *report, struct names *names,
			    void (*say)(struct report *, const struct named *,
					const struct named *))
{
	if (names->list.n)
		qsort(names->list.at, names->list.n, sizeof(*names->list.at), by_name);
	for (size_t i = 1, first = 0; i < names->list.n; i++)
		if (!strcmp(names->list.at[first].name, names->list.at[i].name))
			say(report, &names->list.at[first], &names->list.at[i]);
		else
			first = i;
	vec_fini(&names->list);
}

static void same_target(struct report *report, const struct named *first, const struct named *again)
{
	report_error(report, again->place,
		     "duplicate target %s: the one on line %d has the same name",
		     QUOTE(again->name), report_line(report, first->place.start));
}

static void check_target_names(struct report *report, const struct draft *draft)
{
	struct names names = {0};

	for (size_t i = 0; i < draft->targets.n; i++) {
		const struct draft_target *target = &draft->targets.at[i];
		if (target->spec.name)
			*vec_push(&names.list) =
				(struct named){target->spec.name, target->place, NULL};
	}
	find_duplicates(report, &names, same_target);
}

static bool same_labels(const struct spec_function *a, const struct spec_function *b)
{
	if (a->n_labels != b->n_labels)
		return false;
	for (size_t i = 0; i < a->n_labels; i++)
		if (strcmp(a->labels[i].name, b->labels[i].name) != 0 ||
		    strcmp(a->labels[i].value, b->labels[i].value) != 0)
			return false;
	return true;
}

/*
 * Labels of their own do not tell two functions of one name apart: the in-flight, lost and
 * attached metrics carry `target` and `function` only, and would show the same series twice.
 */
static void same_function(struct report *report, const struct named *first,
			  const struct named *again)
{
	int line = report_line(report, first->place.start);

	if (same_labels(first->function, again->function))
		report_error(report, again->place,
			     "duplicate function %s: the one on line %d makes the same series; "
			     "give one a `name` of its own",
			     QUOTE(again->name), line);
	else
		report_error(report, again->place,
			     "duplicate function %s: the one on line %d has the same name, and not "
			     "every metric carries the `labels` that differ; give one a `name` of "
			     "its own",
			     QUOTE(again->name), line);
}

static void same_usdt(struct report *report, const struct named *first, const struct named *again)
{
	report_error(report, again->place,
		     "duplicate USDT probe %s: the one on line %d has the same label `probe`",
		     QUOTE(again->name), report_line(report, first->place.start));
}

/* Functions are named by the label `function`, USDT probes by the label `probe`. */
static void check_function_names(struct report *report, const struct draft_target *target,
				 bool usdt)
{
	struct names names = {0};

	for (size_t i = 0; i < target->functions.n; i++) {
		const struct draft_function *function = &target->functions.at[i];
		if (function->spec.label && spec_is_usdt(&function->spec) == usdt)
			*vec_push(&names.list) = (struct named){function->spec.label,
								function->place, &function->spec};
	}
	find_duplicates(report, &names, usdt ? same_usdt : same_function);
}

/* ---- totals ---- */

/* At the first function that does not fit. How many a `match` finds is not known yet. */
static void check_series(struct report *report, const struct draft *draft)
{
	const struct draft_function *surplus = NULL;
	size_t n = 0;

	for (size_t t = 0; t < draft->targets.n; t++) {
		const struct draft_target *target = &draft->targets.at[t];
		for (size_t f = 0; f < target->functions.n; f++) {
			const struct draft_function *function = &target->functions.at[f];
			n += function->spec.by != BY_MATCH;
			if (!surplus && n > draft->spec->limits.series)
				surplus = function;
		}
	}
	if (surplus)
		report_error(report, surplus->place,
			     "%zu functions need as many series, but `limits: {series: …}` is %u: "
			     "raise it",
			     n, draft->spec->limits.series);
}

/* Each distinct list takes a table in the kernel; functions with the same list share one. */
struct tables {
	struct buckets list[UP_BOUNDS_TABLES];
	size_t n;
};

static bool fits(struct tables *tables, struct buckets buckets)
{
	for (size_t i = tables->n; i-- > 0;)
		if (buckets_equal(&tables->list[i], &buckets))
			return true;
	if (tables->n == UP_BOUNDS_TABLES)
		return false;
	tables->list[tables->n++] = buckets;
	return true;
}

static void check_bounds_tables(struct report *report, const struct draft *draft)
{
	struct tables tables = {.n = 0};

	for (size_t t = 0; t < draft->targets.n; t++) {
		const struct draft_target *target = &draft->targets.at[t];
		for (size_t f = 0; f < target->functions.n; f++) {
			const struct draft_function *function = &target->functions.at[f];
			if (fits(&tables, function->spec.buckets))
				continue;
			report_error(report,
				     function->buckets_set ? function->buckets_place
							   : function->place,
				     "more than %d different `buckets` lists in one file",
				     UP_BOUNDS_TABLES);
			return;
		}
	}
}

static void warn_unused_buckets(struct report *report, const struct draft *draft)
{
	for (size_t t = 0; t < draft->targets.n; t++) {
		const struct draft_target *target = &draft->targets.at[t];
		for (size_t f = 0; f < target->functions.n; f++) {
			const struct draft_function *function = &target->functions.at[f];
			if (function->buckets_set && function->spec.exit == EXIT_NONE &&
			    !spec_is_usdt(&function->spec))
				report_warning(
					report, function->buckets_place,
					"`buckets` has no effect: with `exit: none` calls are "
					"counted, not timed");
		}
	}
}

void check_draft(struct report *report, const struct draft *draft)
{
	check_target_names(report, draft);
	for (size_t t = 0; t < draft->targets.n; t++) {
		check_function_names(report, &draft->targets.at[t], false);
		check_function_names(report, &draft->targets.at[t], true);
	}
	for (size_t t = 0; t < draft->targets.n; t++)
		parse_labels_from_check(report, &draft->targets.at[t]);
	check_series(report, draft);
	check_bounds_tables(report, draft);
	warn_unused_buckets(report, draft);
}
