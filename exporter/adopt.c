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

static int by_label(const void *left, const void *right)
{
	const struct present *a = left, *b = right;

	return strcmp(a->probe->plan->label, b->probe->plan->label);
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
			  const struct plan_probe *plan, double now_unix)
{
	struct probe *probe = &adopted->probes[adopted->n];

	if (present && must_stay(present->probe) &&
	    present->probe->plan->function != plan->function)
		return NULL;
	if (present) {
		present->taken = true;
		*probe = *present->probe;
	} else {
		*probe = probe_of(plan, now_unix);
	}
	adopted->n++;
	return probe;
}

struct adopted adopt_plan(const struct probe *present, size_t n, const struct plan *plan,
			  double now_unix)
{
	_cleanup_free_ struct present *list = alloc_zero(n, sizeof(*list));
	struct adopted adopted = {
		.probes = alloc_zero(n + plan->n_probes, sizeof(*adopted.probes)),
		.owners = alloc_zero(plan->n_probes, sizeof(struct probe *)),
	};

	for (size_t i = 0; i < n; i++)
		list[i].probe = &present[i];
	if (n)
		qsort(list, n, sizeof(*list), by_label);
	for (size_t i = 0; i < plan->n_probes; i++)
		adopted.owners[i] = take(&adopted, find_present(list, n, &plan->probes[i]),
					 &plan->probes[i], now_unix);
	for (size_t i = 0; i < n; i++)
		if (!list[i].taken && must_stay(list[i].probe))
			adopted.probes[adopted.n++] = *list[i].probe;
	return adopted;
}
