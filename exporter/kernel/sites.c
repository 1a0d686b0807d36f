/* A hash of places: open addressing; what is taken out leaves no mark (backward shift). */
#include "kernel/sites.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "bpf/contract.h"

struct sites_place sites_place(const struct plan_file *file, uint64_t offset)
{
	return (struct sites_place){.dev = file->dev, .ino = file->ino, .offset = offset};
}

static bool same_place(const struct sites_place *a, const struct sites_place *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->offset == b->offset;
}

static size_t home_of(const struct sites *sites, const struct sites_place *place)
{
	/* Fibonacci hashing of the three mixed. */
	uint64_t mixed = (place->dev * 31 + place->ino) * 31 + place->offset;

	return (size_t)(mixed * 0x9e3779b97f4a7c15ULL >> 20) & (sites->room - 1);
}

/* Where the entry is, or the empty place where it belongs. */
static size_t find(const struct sites *sites, const struct sites_place *place)
{
	size_t at = home_of(sites, place);

	while (sites->at[at].members && !same_place(&sites->at[at].place, place))
		at = (at + 1) & (sites->room - 1);
	return at;
}

static void grow(struct sites *sites)
{
	struct sites old = *sites;

	if (2 * sites->n < sites->room)
		return;
	sites->room = old.room ? 2 * old.room : 64;
	sites->at = alloc_zero(sites->room, sizeof(*sites->at));
	for (size_t i = 0; i < old.room; i++)
		if (old.at[i].members)
			sites->at[find(sites, &old.at[i].place)] = old.at[i];
	free(old.at);
}

int sites_take(struct sites *sites, struct sites_place place, uint32_t *number, uint32_t *member)
{
	grow(sites);
	struct site_entry *entry = &sites->at[find(sites, &place)];
	for (uint32_t i = 0; i < UP_SITE_PROBES; i++) {
		if (entry->members & (1U << i))
			continue;
		if (!entry->members) {
			entry->place = place;
			entry->number = ++sites->last_number; /* 0: no entry probe */
			sites->n++;
		}
		entry->members |= 1U << i;
		*number = entry->number;
		*member = i;
		return 0;
	}
	return -ENOSPC;
}

/* Move up what would not be found any more across the hole. */
static void close_hole(struct sites *sites, size_t hole)
{
	size_t mask = sites->room - 1;

	for (size_t at = (hole + 1) & mask; sites->at[at].members; at = (at + 1) & mask) {
		size_t home = home_of(sites, &sites->at[at].place);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue; /* its home lies behind the hole */
		sites->at[hole] = sites->at[at];
		hole = at;
	}
	sites->at[hole] = (struct site_entry){0};
}

void sites_release(struct sites *sites, struct sites_place place, uint32_t member)
{
	if (!sites->room)
		return;
	size_t at = find(sites, &place);
	struct site_entry *entry = &sites->at[at];
	if (!(entry->members & (1U << member)))
		return;
	entry->members &= ~(1U << member);
	if (entry->members)
		return;
	sites->n--;
	close_hole(sites, at);
}

void sites_fini(struct sites *sites)
{
	free(sites->at);
	*sites = (struct sites){0};
}
