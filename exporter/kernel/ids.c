/* Next fit: the search goes on where the last one ended, and once around. */
#include "kernel/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void ids_init(struct ids *ids, uint32_t n)
{
	*ids = (struct ids){.taken = alloc_zero(n, 1), .n = n};
}

void ids_fini(struct ids *ids)
{
	free(ids->taken);
	*ids = (struct ids){0};
}

/* The first of `count` free numbers at or after `from`; `n` when there are none. */
static uint32_t find_run(const struct ids *ids, uint32_t from, uint32_t count)
{
	uint32_t length = 0;

	for (uint32_t i = from; i < ids->n; i++) {
		length = ids->taken[i] ? 0 : length + 1;
		if (length == count)
			return i + 1 - count;
	}
	return ids->n;
}

int ids_take_low(struct ids *ids, uint32_t count)
{
	uint32_t first = find_run(ids, 0, count);

	if (first == ids->n)
		return -ENOSPC;
	memset(ids->taken + first, 1, count);
	return (int)first;
}

int ids_take(struct ids *ids, uint32_t count)
{
	uint32_t first = find_run(ids, ids->next, count);

	if (first == ids->n)
		return ids_take_low(ids, count);
	memset(ids->taken + first, 1, count);
	ids->next = first + count;
	return (int)first;
}

void ids_give(struct ids *ids, uint32_t first, uint32_t count)
{
	memset(ids->taken + first, 0, count);
}
