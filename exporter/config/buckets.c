/* Bucket bounds. */
#include "config/buckets.h"

#include "bpf/contract.h"
#include "config/scalar.h"

/* The items read so far; the place of each is that of the same item of `list`. */
struct bounds {
	const struct yaml_value *list;
	uint64_t *ns; /* 0 where an item was wrong */
	size_t n;
};

static const struct yaml_value *find_same(const struct bounds *bounds, uint64_t ns)
{
	for (size_t i = 0; i < bounds->n; i++)
		if (bounds->ns[i] == ns)
			return bounds->list->items[i];
	return NULL;
}

static const struct yaml_value *find_before(const struct bounds *bounds, uint64_t *ns)
{
	for (size_t i = bounds->n; i-- > 0;)
		if (bounds->ns[i]) {
			*ns = bounds->ns[i];
			return bounds->list->items[i];
		}
	return NULL;
}

static void check_order(struct report *report, const struct bounds *bounds,
			const struct yaml_value *item, uint64_t ns)
{
	uint64_t before_ns = 0;
	const struct yaml_value *same = find_same(bounds, ns);
	const struct yaml_value *before = find_before(bounds, &before_ns);

	if (same)
		report_error(report, item->span,
			     "bound %s is given twice: %s on line %d is the same",
			     QUOTE(item->text), QUOTE(same->text),
			     report_line(report, same->span.start));
	else if (before && ns < before_ns)
		report_error(report, item->span,
			     "bound %s is below %s before it: bounds must ascend",
			     QUOTE(item->text), QUOTE(before->text));
}

static bool good_count(struct report *report, const struct yaml_value *list)
{
	if (list->n == 0)
		report_error(report, list->span,
			     "`buckets` is empty: give 1 to %d bounds, or leave "
			     "the key out for the default",
			     UP_MAX_BOUNDS);
	else if (list->n > UP_MAX_BOUNDS)
		report_error(report, list->items[UP_MAX_BOUNDS]->span,
			     "bound %d of %zu: a function takes at most %d", UP_MAX_BOUNDS + 1,
			     list->n, UP_MAX_BOUNDS);
	else
		return true;
	return false;
}

void buckets_read(struct report *report, struct arena *arena, const struct yaml_value *list,
		  struct buckets *buckets)
{
	size_t errors = report->errors;

	if (!scalar_expect(report, "buckets", list, YAML_LIST,
			   "a list such as [1ms, 10ms, 100ms]") ||
	    !good_count(report, list))
		return;
	struct bounds bounds = {list, arena_array(arena, list->n, sizeof(uint64_t)), 0};
	for (size_t i = 0; i < list->n; i++) {
		uint64_t ns = 0;
		if (scalar_bound(report, list->items[i], &ns))
			check_order(report, &bounds, list->items[i], ns);
		bounds.ns[bounds.n++] = ns;
	}
	if (report->errors == errors)
		*buckets = (struct buckets){bounds.ns, bounds.n};
}
