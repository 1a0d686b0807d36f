/* Matching the old probes and the new ones. */
#include "adopt.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A present probe, and whether one of the plan goes on with it. */
struct present {
	const struct probe *probe;
	bool taken;
};

static int compare_labels(const struct plan_probe *a, const struct plan_probe *b)
{
	bool usdt_a = spec_is_usdt(a->function), usdt_b = spec_is_usdt(b->function);

	return usdt_a != usdt_b ? usdt_a - usdt_b : strcmp(a->label, b->label);
}

static int by_label(const void *left, const void *right)
{
	const struct present *a = left, *b = right;

	return compare_labels(a->probe->plan, b->probe->plan);
}

static struct present *find_present(struct present *list, size_t n, const struct plan_probe *plan)
{
	struct probe probe = {.plan = plan};
	struct present key = {.probe = &probe};

	return n ? bsearch(&key, list, n, sizeof(*list), by_label) : NULL;
}

static bool must_stay(const struct probe *probe)
{
	return probe->status.attached || probe->series >= 0;
}

/* The next probe for one of the plan; NULL when another entry measures under its label already. */
static struct probe *take(struct adopted *adopted, struct present *present,
			  const struct plan_probe *plan, bool reload, double now_unix)
{
	struct probe *probe = &adopted->probes[adopted->n];
	bool same = present && spec_same_function(present->probe->plan->function, plan->function);

	if (present && !reload && !same && must_stay(present->probe))
		return NULL;
	if (present)
		present->taken = true; /* or replaced */
	*probe = present && (same || !reload) ? *present->probe : probe_of(plan, now_unix);
	adopted->n++;
	return probe;
}

/* Whether what a present probe came of is in the new config too. */
static bool still_configured(const struct probe *probe, const struct plan_probe *next, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (spec_same_function(probe->plan->function, next[i].function))
			return true;
	return false;
}

struct adopted adopt_plan(const struct probe *present, size_t n, const struct plan_probe *next,
			  size_t n_next, bool reload, double now_unix)
{
	_cleanup_free_ struct present *list = alloc_zero(n, sizeof(*list));
	struct adopted adopted = {
		.probes = alloc_zero(n + n_next, sizeof(*adopted.probes)),
		.owners = alloc_zero(n_next, sizeof(struct probe *)),
	};

	for (size_t i = 0; i < n; i++)
		list[i].probe = &present[i];
	if (n)
		qsort(list, n, sizeof(*list), by_label);
	for (size_t i = 0; i < n_next; i++)
		adopted.owners[i] =
			take(&adopted, find_present(list, n, &next[i]), &next[i], reload, now_unix);
	for (size_t i = 0; i < n; i++)
		if (!list[i].taken && must_stay(list[i].probe) &&
		    (!reload || still_configured(list[i].probe, next, n_next)))
			adopted.probes[adopted.n++] = *list[i].probe;
	return adopted;
}
