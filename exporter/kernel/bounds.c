/* Tables are shared by series with the same bounds, and handed on when no series has them. */
#include "kernel/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/layout.h"

/* A table that no series has: a new one while there is room. */
static int free_table(const struct bounds *bounds)
{
	if (bounds->n <= UP_BOUNDS_TABLES)
		return (int)bounds->n;
	for (uint32_t i = 0; i < bounds->n; i++)
		if (!bounds->tables[i].users)
			return (int)i;
	return -ENOSPC;
}

static uint64_t *copy_of(struct buckets buckets)
{
	uint64_t *copy = alloc_zero(buckets.n, sizeof(*copy));

	if (buckets.n)
		memcpy(copy, buckets.bound_ns, buckets.n * sizeof(*copy));
	return copy;
}

static int add_table(struct bounds *bounds, const struct object *object, struct buckets buckets,
		     struct err *err)
{
	_cleanup_free_ struct up_bounds *layout = alloc_zero(1, sizeof(*layout));
	int at = free_table(bounds);

	if (at < 0)
		return err_set(err, at, REASON_LIMIT,
			       "more than %d different lists of buckets; let functions share them",
			       UP_BOUNDS_TABLES);
	layout_build(buckets, layout);
	int result = object_map_set(object->map_bounds, (uint32_t)at, layout);
	if (result)
		return err_set(err, result, REASON_OUT_OF_RESOURCES,
			       "cannot write a bounds table: %s", strerror(-result));
	struct bounds_table *table = &bounds->tables[at];
	free((void *)(uintptr_t)table->buckets.bound_ns);
	*table = (struct bounds_table){
		.buckets = {.bound_ns = copy_of(buckets), .n = buckets.n},
		.n_cells = layout->n_edges + 1,
		.slots = layout->slots,
	};
	if ((uint32_t)at == bounds->n)
		bounds->n++;
	return at;
}

int bounds_find(struct bounds *bounds, const struct object *object, struct buckets buckets,
		struct err *err)
{
	for (uint32_t i = 0; i < bounds->n; i++)
		if (buckets_equal(&bounds->tables[i].buckets, &buckets))
			return (int)i;
	return add_table(bounds, object, buckets, err);
}

void bounds_fini(struct bounds *bounds)
{
	for (uint32_t i = 0; i < bounds->n; i++)
		free((void *)(uintptr_t)bounds->tables[i].buckets.bound_ns);
}
