/* A hash of places: open addressing, nothing is ever taken out. */
#include "kernel/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "bpf/contract.h"

static size_t hash(uint64_t dev, uint64_t ino, uint64_t offset)
{
	/* Fibonacci hashing of the three mixed. */
	return (size_t)(((dev * 31 + ino) * 31 + offset) * 0x9e3779b97f4a7c15ULL >> 20);
}

/* Where the entry is, or the empty place where it belongs. */
static size_t probe_index(const struct sites *sites, uint64_t dev, uint64_t ino, uint64_t offset)
{
	size_t mask = sites->n_index - 1, at = hash(dev, ino, offset) & mask;

	while (sites->index[at]) {
		const struct site_entry *entry = &sites->at[sites->index[at] - 1];
		if (entry->dev == dev && entry->ino == ino && entry->offset == offset)
			break;
		at = (at + 1) & mask;
	}
	return at;
}

static void grow(struct sites *sites)
{
	if (2 * sites->n < sites->n_index)
		return;
	free(sites->index);
	sites->n_index = sites->n_index ? 2 * sites->n_index : 64;
	sites->index = alloc_zero(sites->n_index, sizeof(*sites->index));
	for (size_t i = 0; i < sites->n; i++) {
		const struct site_entry *entry = &sites->at[i];
		size_t at = probe_index(sites, entry->dev, entry->ino, entry->offset);
		sites->index[at] = (uint32_t)i + 1;
	}
}

static struct site_entry *find_or_add(struct sites *sites, const struct plan_file *file,
				      uint64_t offset)
{
	grow(sites);
	size_t at = probe_index(sites, file->dev, file->ino, offset);
	if (sites->index[at])
		return &sites->at[sites->index[at] - 1];
	struct site_entry *entry = vec_push(sites);
	entry->dev = file->dev;
	entry->ino = file->ino;
	entry->offset = offset;
	sites->index[at] = (uint32_t)sites->n;
	return entry;
}

int sites_take(struct sites *sites, const struct plan_file *file, uint64_t offset, uint32_t *number,
	       uint32_t *member)
{
	struct site_entry *entry = find_or_add(sites, file, offset);

	for (uint32_t i = 0; i < UP_SITE_PROBES; i++) {
		if (entry->members & (1U << i))
			continue;
		entry->members |= 1U << i;
		*number = (uint32_t)(entry - sites->at) + 1; /* 0: no entry probe */
		*member = i;
		return 0;
	}
	return -ENOSPC;
}

void sites_release(struct sites *sites, uint32_t number, uint32_t member)
{
	if (number)
		sites->at[number - 1].members &= ~(1U << member);
}

void sites_fini(struct sites *sites)
{
	vec_fini(sites);
	free(sites->index);
	*sites = (struct sites){0};
}
