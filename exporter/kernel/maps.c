/*
 * Slots live in chunks that are created when first needed, and are handed out again once their
 * series is gone. Chunks and probe records are mapped, so that writing a record and reading a
 * counter are plain memory accesses. Other threads read series that the caller has shown them,
 * and no others.
 */
#include "kernel/maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "kernel/bounds.h"
#include "kernel/ids.h"

struct map_series {
	bool used;
	uint32_t slot;
	uint32_t table;
	int of; /* the series of which it counts a group; -1: none */
};

/* What no call was ever entered with. */
#define NO_GENERATION UINT32_MAX

/* A generation of probe records whose calls may still be open on some stack. */
struct retired {
	uint32_t generation;
	int series;
};

struct chunk {
	int fd;
	struct up_slot *slots; /* mapped, writable */
};

struct maps {
	const struct object *object;
	uint32_t max_series;
	struct up_probe *probes; /* mapped, writable */
	size_t probes_bytes;
	struct map_series *series; /* room for max_series, so that readers' pointers stay */
	struct ids ids;		   /* of probe records */
	_Atomic int *series_of;	   /* by id; also read by sweeps, in other threads */
	uint32_t generation;	   /* the last that was given to a run of ids */
	VEC(struct retired) retired;
	size_t next_retired; /* to be looked at, whether it is needed still */
	struct ids slots;
	struct chunk *chunks; /* room for object->sizes.chunks */
	_Atomic uint32_t n_chunks;
	uint32_t n_published; /* of the chunks: the programs know them */
	uint64_t fixed_bytes; /* of the maps that do not grow */
	struct bounds bounds;
};

static size_t page_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t chunk_bytes(const struct maps *maps)
{
	return page_round((size_t)UP_CHUNK_SLOTS * maps->object->sizes.shards *
			  sizeof(struct up_slot));
}

int maps_open(const struct object *object, uint32_t max_series, struct maps **out, struct err *err)
{
	size_t bytes = page_round(object->sizes.probes * sizeof(struct up_probe));
	void *probes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object->map_probes, 0);

	if (probes == MAP_FAILED)
		return err_set(err, -errno, REASON_OUT_OF_RESOURCES,
			       "cannot map the probe records: %s", strerror(errno));
	struct maps *maps = alloc_zero(1, sizeof(*maps));
	maps->object = object;
	maps->max_series = max_series;
	maps->probes = probes;
	maps->probes_bytes = bytes;
	maps->fixed_bytes = object_fixed_bytes(object);
	maps->series = alloc_zero(max_series, sizeof(*maps->series));
	ids_init(&maps->ids, object->sizes.probes);
	ids_init(&maps->slots, object->sizes.chunks * UP_CHUNK_SLOTS);
	maps->series_of = alloc_zero(object->sizes.probes, sizeof(*maps->series_of));
	for (uint32_t i = 0; i < object->sizes.probes; i++)
		maps->series_of[i] = -1;
	maps->chunks = alloc_zero(object->sizes.chunks, sizeof(*maps->chunks));
	*out = maps;
	return 0;
}

void maps_close(struct maps *maps)
{
	if (!maps)
		return;
	for (uint32_t i = 0; i < maps->n_chunks; i++) {
		munmap(maps->chunks[i].slots, chunk_bytes(maps));
		close(maps->chunks[i].fd);
	}
	bounds_fini(&maps->bounds);
	munmap(maps->probes, maps->probes_bytes);
	ids_fini(&maps->ids);
	ids_fini(&maps->slots);
	vec_fini(&maps->retired);
	free(maps->series_of);
	free(maps->series);
	free(maps->chunks);
	free(maps);
}

static int add_chunk(struct maps *maps, struct err *err)
{
	int fd = object_new_chunk(maps->object);

	if (fd < 0)
		return err_set(err, fd, REASON_OUT_OF_RESOURCES,
			       "no memory for %zu bytes of histograms: %s", chunk_bytes(maps),
			       strerror(-fd));
	void *slots = mmap(NULL, chunk_bytes(maps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED) {
		int result = -errno;
		close(fd);
		return err_set(err, result, REASON_OUT_OF_RESOURCES,
			       "cannot map a chunk of histograms: %s", strerror(-result));
	}
	maps->chunks[maps->n_chunks++] = (struct chunk){.fd = fd, .slots = slots};
	return 0;
}

/* `count` slots in a row; the first one's number or -errno. */
static int take_slots(struct maps *maps, uint32_t count, struct err *err)
{
	int first = ids_take_low(&maps->slots, count);

	if (first < 0)
		return err_set(err, first, REASON_LIMIT, "no room for more histograms");
	while ((uint32_t)first + count > maps->n_chunks * UP_CHUNK_SLOTS) {
		int result = add_chunk(maps, err);
		if (result) {
			ids_give(&maps->slots, (uint32_t)first, count);
			return result;
		}
	}
	return first;
}

static int free_series(const struct maps *maps)
{
	for (uint32_t i = 0; i < maps->max_series; i++)
		if (!maps->series[i].used)
			return (int)i;
	return -ENOSPC;
}

static struct up_slot *slot_at(const struct maps *maps, uint32_t slot, uint32_t shard)
{
	const struct chunk *chunk = &maps->chunks[slot / UP_CHUNK_SLOTS];

	return &chunk->slots[slot % UP_CHUNK_SLOTS * maps->object->sizes.shards + shard];
}

static void clear_slots(const struct maps *maps, uint32_t first, uint32_t count)
{
	for (uint32_t slot = first; slot < first + count; slot++)
		for (uint32_t shard = 0; shard < maps->object->sizes.shards; shard++)
			memset(slot_at(maps, slot, shard), 0, sizeof(struct up_slot));
}

/* ---- what is left of probe records that were given back ---- */

/* Take a probe record from its series, for good: it counts nothing and no open call means it. */
static void orphan(struct maps *maps, uint32_t id)
{
	maps->series_of[id] = -1;
	__atomic_store_n(&maps->probes[id].flags, 0, __ATOMIC_RELEASE);
	maps->probes[id].generation = NO_GENERATION;
}

static void forget_retired(struct maps *maps, size_t at)
{
	object_map_delete(maps->object->map_retired, maps->retired.at[at].generation);
	maps->retired.at[at] = maps->retired.at[--maps->retired.n];
}

/* In the series itself, or in those of its groups. */
static bool has_open_calls(const struct maps *maps, int series)
{
	struct reading reading;

	for (uint32_t i = 0; i < maps->max_series; i++) {
		const struct map_series *at = &maps->series[i];
		if (!at->used || ((int)i != series && at->of != series))
			continue;
		maps_read(maps, (int)i, &reading);
		if (reading_in_flight(&reading))
			return true;
	}
	return false;
}

/* Two steps on the way round those that are retired: more than come at a time. */
static void forget_finished(struct maps *maps)
{
	for (int i = 0; i < 2 && maps->retired.n; i++) {
		size_t at = maps->next_retired++ % maps->retired.n;
		if (!has_open_calls(maps, maps->retired.at[at].series))
			forget_retired(maps, at);
	}
}

/* Let the programs know where calls of this generation are counted when they are noticed. */
static void retire(struct maps *maps, uint32_t generation, int series)
{
	forget_finished(maps);
	if (!has_open_calls(maps, series))
		return;
	if (maps->retired.n == UP_RETIRED)
		forget_retired(maps, 0);
	if (object_map_set(maps->object->map_retired, generation, &maps->series[series].slot))
		return;
	*vec_push(&maps->retired) = (struct retired){generation, series};
}

/* ---- series ---- */

int maps_add_series(struct maps *maps, struct buckets buckets, struct err *err)
{
	int index = free_series(maps);

	if (index < 0)
		return err_set(err, index, REASON_LIMIT,
			       "all %u series are in use; raise limits.series", maps->max_series);
	int table = bounds_find(&maps->bounds, maps->object, buckets, err);
	if (table < 0)
		return table;
	int slot = take_slots(maps, maps->bounds.tables[table].slots, err);
	if (slot < 0)
		return slot;
	maps->bounds.tables[table].users++;
	maps->series[index] = (struct map_series){
		.used = true, .slot = (uint32_t)slot, .table = (uint32_t)table, .of = -1};
	return index;
}

void maps_free_series(struct maps *maps, int index)
{
	struct map_series *series = &maps->series[index];
	struct bounds_table *table = &maps->bounds.tables[series->table];

	for (size_t i = maps->retired.n; i-- > 0;)
		if (maps->retired.at[i].series == index)
			forget_retired(maps, i);
	for (uint32_t id = 0; id < maps->object->sizes.probes; id++)
		if (maps->series_of[id] == index)
			orphan(maps, id);
	clear_slots(maps, series->slot, table->slots);
	ids_give(&maps->slots, series->slot, table->slots);
	table->users--;
	*series = (struct map_series){0};
}

int maps_publish(struct maps *maps, struct err *err)
{
	uint32_t first = maps->n_published, n = maps->n_chunks - first;

	if (!n)
		return 0;
	_cleanup_free_ int *fds = alloc_zero(n, sizeof(*fds));
	for (uint32_t i = 0; i < n; i++)
		fds[i] = maps->chunks[first + i].fd;
	int result = object_put_chunks(maps->object, first, fds, n);
	if (result)
		return err_set(err, result, REASON_OUT_OF_RESOURCES,
			       "cannot add chunks of histograms: %s", strerror(-result));
	maps->n_published += n;
	return 0;
}

/* ---- probe records ---- */

int maps_take_ids(struct maps *maps, int index, size_t n)
{
	const struct map_series *series = &maps->series[index];
	int first = ids_take(&maps->ids, (uint32_t)n);

	if (first < 0)
		return first;
	maps->generation = (maps->generation + 1) % NO_GENERATION;
	maps->generation += !maps->generation; /* 0: nobody waits */
	for (uint32_t id = (uint32_t)first; id < (uint32_t)first + n; id++) {
		struct up_probe *probe = &maps->probes[id];
		memset(probe, 0, sizeof(*probe));
		probe->slot = series->slot;
		probe->bounds = series->table;
		probe->generation = maps->generation;
		probe->entry = (uint32_t)first;
		maps->series_of[id] = index;
	}
	return first;
}

void maps_give_ids(struct maps *maps, int first, size_t n)
{
	if (maps->series_of[first] >= 0)
		retire(maps, maps->probes[first].generation, maps->series_of[first]);
	for (uint32_t id = (uint32_t)first; id < (uint32_t)first + n; id++)
		orphan(maps, id);
	ids_give(&maps->ids, (uint32_t)first, (uint32_t)n);
}

static void put_site(struct up_probe *probe, const struct maps_site *site)
{
	probe->site = site->number;
	probe->member = site->member;
	probe->sp_adjust = site->sp_adjust;
	probe->condition = site->condition;
}

void maps_set_entry(struct maps *maps, int id, uint32_t flags, const struct maps_site *site)
{
	struct up_probe *probe = &maps->probes[id];

	put_site(probe, site);
	__atomic_store_n(&probe->flags, flags & ~UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

void maps_set_exit(struct maps *maps, int id, int entry, const struct maps_site *site)
{
	struct up_probe *probe = &maps->probes[id];

	probe->entry = (uint32_t)entry;
	put_site(probe, site);
	__atomic_store_n(&probe->flags, 0, __ATOMIC_RELEASE);
}

void maps_set_mark(struct maps *maps, int id, int entry, uint32_t flags, const struct up_arg *key)
{
	struct up_probe *probe = &maps->probes[id];

	probe->entry = (uint32_t)entry;
	put_site(probe, &(struct maps_site){0});
	probe->key = *key;
	__atomic_store_n(&probe->flags, flags & ~UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

int maps_series_of(const struct maps *maps, int id, uint32_t generation)
{
	if ((uint32_t)id >= maps->object->sizes.probes ||
	    __atomic_load_n(&maps->probes[id].generation, __ATOMIC_ACQUIRE) != generation)
		return -1;
	return maps->series_of[id];
}

void maps_enable(struct maps *maps, int id, uint32_t filter)
{
	struct up_probe *probe = &maps->probes[id];

	probe->filter = filter;
	__atomic_fetch_or(&probe->flags, UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

void maps_disable(struct maps *maps, int id)
{
	__atomic_fetch_and(&maps->probes[id].flags, ~(uint32_t)UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

/* After a change of a map of maps, the kernel waits for the programs that may see the old content.
 */
void maps_wait(const struct maps *maps)
{
	if (maps->n_published)
		object_put_chunks(maps->object, 0, &maps->chunks[0].fd, 1);
}

/* The slot of a series' group; as the kernel programs find it. */
static uint32_t slot_number(const struct maps *maps, int series, uint32_t group)
{
	struct up_grouped_key key = {.slot = maps->series[series].slot, .group = group};
	uint32_t slot;

	return group && !object_find(maps->object->map_grouped, &key, &slot) ? slot : key.slot;
}

void maps_abandon(struct maps *maps, int series, uint32_t group, enum up_abandoned reason)
{
	if (series < 0)
		return;
	struct up_slot *slot = slot_at(maps, slot_number(maps, series, group), 0);
	__atomic_fetch_add(&slot->abandoned[reason], 1, __ATOMIC_RELAXED);
}

/* ---- groups ---- */

int maps_put_group(struct maps *maps, int series, uint32_t group, int into)
{
	struct up_grouped_key key = {.slot = maps->series[series].slot, .group = group};

	maps->series[into].of = series;
	return object_put(maps->object->map_grouped, &key, &maps->series[into].slot);
}

void maps_drop_group(struct maps *maps, int series, uint32_t group)
{
	struct up_grouped_key key = {.slot = maps->series[series].slot, .group = group};

	object_drop(maps->object->map_grouped, &key);
}

void maps_fold(struct maps *maps, int series, int ended, bool counts)
{
	struct up_slot *slot = slot_at(maps, maps->series[series].slot, 0);
	struct reading reading;

	maps_read(maps, ended, &reading);
	__atomic_fetch_add(&slot->entries, reading.entries, __ATOMIC_RELAXED);
	__atomic_fetch_add(&slot->ended, counts ? reading.entries : reading_observed(&reading),
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&slot->unmatched, reading.unmatched, __ATOMIC_RELAXED);
	for (int i = 0; i < UP_ABANDONED_REASONS; i++)
		__atomic_fetch_add(&slot->abandoned[i], reading.abandoned[i], __ATOMIC_RELAXED);
	for (int i = 0; i < UP_LOST_REASONS; i++)
		__atomic_fetch_add(&slot->lost[i], reading.lost[i], __ATOMIC_RELAXED);
}

/* In the order in which they are written within a call, backwards: see struct up_slot. */
static uint64_t load(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void read_outcomes(const struct maps *maps, const struct map_series *series,
			  uint32_t n_cells, struct reading *reading)
{
	for (uint32_t shard = 0; shard < maps->object->sizes.shards; shard++) {
		const struct up_slot *slot = slot_at(maps, series->slot, shard);
		for (int i = 0; i < UP_ABANDONED_REASONS; i++)
			reading->abandoned[i] += load(&slot->abandoned[i]);
		for (int i = 0; i < UP_LOST_REASONS; i++)
			reading->lost[i] += load(&slot->lost[i]);
		reading->unmatched += load(&slot->unmatched);
		reading->ended += load(&slot->ended);
		for (uint32_t i = 0; i < n_cells && i < UP_SLOT_CELLS; i++)
			reading->cells[i] += load(&slot->cells[i]);
		if (n_cells <= UP_SLOT_CELLS)
			continue;
		slot = slot_at(maps, series->slot + 1, shard);
		for (uint32_t i = UP_SLOT_CELLS; i < n_cells; i++)
			reading->cells[i] += load(&slot->cells[i - UP_SLOT_CELLS]);
	}
}

void maps_read(const struct maps *maps, int index, struct reading *reading)
{
	const struct map_series *series = &maps->series[index];
	uint32_t shards = maps->object->sizes.shards;

	memset(reading, 0, sizeof(*reading));
	/* Three passes, not one: a call may enter on one CPU and leave on another. */
	for (uint32_t shard = 0; shard < shards; shard++)
		reading->sum_ns += load(&slot_at(maps, series->slot, shard)->sum_ns);
	read_outcomes(maps, series, maps->bounds.tables[series->table].n_cells, reading);
	for (uint32_t shard = 0; shard < shards; shard++)
		reading->entries += load(&slot_at(maps, series->slot, shard)->entries);
}

uint64_t maps_memory_bytes(const struct maps *maps, uint64_t *at_most)
{
	if (at_most)
		*at_most = maps->fixed_bytes + maps->object->sizes.chunks * chunk_bytes(maps);
	return maps->fixed_bytes + maps->n_chunks * chunk_bytes(maps);
}
