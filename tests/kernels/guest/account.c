/* Where the calls of a function went, as the metrics tell it, compared with what was expected. */
#include "guest.h"

#include <stdio.h>

#define SETTLE_SECONDS 30

struct account account_of(const struct exporter *exporter, const char *target,
			  const struct expected *e)
{
	char function[128], reason[64];

	snprintf(function, sizeof(function), "target=\"%s\",function=\"%s\"", target, e->function);
	snprintf(reason, sizeof(reason), "reason=\"%s\"", e->reason ? e->reason : "unwound");
	return (struct account){
		.entries =
			exporter_value(exporter, "uprobe_function_entries_total", function, NULL),
		.observed = exporter_value(exporter, "uprobe_function_duration_seconds_count",
					   function, NULL),
		.abandoned = exporter_value(exporter, "uprobe_function_abandoned_calls_total",
					    function, NULL),
		.of_reason = exporter_value(exporter, "uprobe_function_abandoned_calls_total",
					    function, reason),
		.lost = exporter_value(exporter, "uprobe_exporter_events_lost_total", function,
				       NULL),
		.in_flight = exporter_value(exporter, "uprobe_function_in_flight", function, NULL),
	};
}

/* What was added since `before`; what is in flight is as it is. */
static struct account difference(const struct account *now, const struct account *before)
{
	return (struct account){
		.entries = now->entries - before->entries,
		.observed = now->observed - before->observed,
		.abandoned = now->abandoned - before->abandoned,
		.of_reason = now->of_reason - before->of_reason,
		.lost = now->lost - before->lost,
		.in_flight = now->in_flight,
	};
}

static void require(const struct expected *e, const struct account *a)
{
	if (a->entries == a->observed + a->abandoned + a->lost + a->in_flight &&
	    a->observed == e->observed && a->abandoned == e->abandoned &&
	    (!e->reason || a->of_reason == e->abandoned) && a->lost == 0 && a->in_flight == 0)
		return;
	case_fail(
		"%s: expected %ld observed and %ld abandoned (%s), got %ld observed, %ld abandoned "
		"(%ld), %ld lost, %ld in flight, %ld entries",
		e->function, e->observed, e->abandoned, e->reason ? e->reason : "-", a->observed,
		a->abandoned, a->of_reason, a->lost, a->in_flight, a->entries);
}

/* The end of a thread is noticed a moment after it is joined: wait until nothing is in flight. */
static bool scrape_settled(struct exporter *exporter, const char *target)
{
	double until = seconds_now() + SETTLE_SECONDS;
	char label[64];

	snprintf(label, sizeof(label), "target=\"%s\"", target);
	while (exporter_scrape(exporter)) {
		if (exporter_value(exporter, "uprobe_function_in_flight", label, NULL) <= 0 ||
		    seconds_now() > until)
			return true;
		doze();
	}
	return false;
}

bool account_before(struct exporter *exporter, const char *target, const struct expected *expected,
		    struct account *before)
{
	if (!exporter_scrape(exporter))
		return false;
	for (const struct expected *e = expected; e->function; e++)
		before[e - expected] = account_of(exporter, target, e);
	return true;
}

void account_require(struct exporter *exporter, const char *target, const struct expected *expected,
		     const struct account *before)
{
	if (!scrape_settled(exporter, target))
		return;
	for (const struct expected *e = expected; e->function; e++) {
		struct account now = account_of(exporter, target, e);
		struct account added = difference(&now, &before[e - expected]);
		require(e, &added);
	}
}
