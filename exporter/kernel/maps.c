/*
 * Slots are handed out in order and live in chunks that are created when first needed. Chunks
 * and probe records are mapped, so that writing a record and reading a counter are plain memory
 * accesses. Pointers into them are only ever added while a series is being set up, before the
 * caller shows its index to other threads.
 */
#include "kernel/maps.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"

struct map_series {
	uint32_t slot;
	uint32_t table;
	uint32_t first_exit, n_exits; /* ids of probes on exits that it has */
};

struct bounds_table {
	struct buckets buckets; /* a copy of its own */
	uint32_t n_cells, slots;
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
	_Atomic uint32_t n_series; /* also read by sweeps, in other threads */
	uint32_t n_slots, n_exits;
	struct chunk *chunks; /* room for object->sizes.chunks */
	_Atomic uint32_t n_chunks;
	uint32_t n_published; /* of the chunks: the programs know them */
	uint64_t fixed_bytes; /* of the maps that do not grow */
	struct bounds_table tables[UP_BOUNDS_TABLES + 1]; /* one is our own probes' */
	uint32_t n_tables;
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
	for (uint32_t i = 0; i < maps->n_tables; i++)
		free((void *)(uintptr_t)maps->tables[i].buckets.bound_ns);
	munmap(maps->probes, maps->probes_bytes);
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
static int64_t take_slots(struct maps *maps, uint32_t count, struct err *err)
{
	uint32_t first = maps->n_slots;

	while (first + count > maps->n_chunks * UP_CHUNK_SLOTS) {
		int result = add_chunk(maps, err);
		if (result)
			return result;
	}
	maps->n_slots += count;
	return first;
}

static int add_table(struct maps *maps, struct buckets buckets, struct err *err)
{
	_cleanup_free_ struct up_bounds *bounds = alloc_zero(1, sizeof(*bounds));

	if (maps->n_tables > UP_BOUNDS_TABLES)
		return err_set(err, -ENOSPC, REASON_LIMIT,
			       "more than %d different lists of buckets; let functions share them",
			       UP_BOUNDS_TABLES);
	layout_build(buckets, bounds);
	int result = object_map_set(maps->object->map_bounds, maps->n_tables, bounds);
	if (result)
		return err_set(err, result, REASON_OUT_OF_RESOURCES,
			       "cannot write a bounds table: %s", strerror(-result));
	uint64_t *copy = alloc_zero(buckets.n, sizeof(*copy));
	if (buckets.n)
		memcpy(copy, buckets.bound_ns, buckets.n * sizeof(*copy));
	maps->tables[maps->n_tables] = (struct bounds_table){
		.buckets = {.bound_ns = copy, .n = buckets.n},
		.n_cells = bounds->n_edges + 1,
		.slots = bounds->slots,
	};
	return (int)maps->n_tables++;
}

/* Functions with the same bounds share one table. */
static int find_table(struct maps *maps, struct buckets buckets, struct err *err)
{
	for (uint32_t i = 0; i < maps->n_tables; i++)
		if (buckets_equal(&maps->tables[i].buckets, &buckets))
			return (int)i;
	return add_table(maps, buckets, err);
}

int maps_add_series(struct maps *maps, struct buckets buckets, struct err *err)
{
	if (maps->n_series == maps->max_series)
		return err_set(err, -ENOSPC, REASON_LIMIT,
			       "all %u series are in use; raise limits.series", maps->max_series);
	int table = find_table(maps, buckets, err);
	if (table < 0)
		return table;
	int64_t slot = take_slots(maps, maps->tables[table].slots, err);
	if (slot < 0)
		return (int)slot;
	int index = (int)maps->n_series++;
	maps->series[index] = (struct map_series){.slot = (uint32_t)slot, .table = (uint32_t)table};
	struct up_probe *probe = &maps->probes[index];
	probe->slot = (uint32_t)slot;
	probe->bounds = (uint32_t)table;
	probe->generation++;
	probe->entry = (uint32_t)index;
	return index;
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

static void put_site(struct up_probe *probe, const struct maps_site *site)
{
	probe->site = site->number;
	probe->member = site->member;
	probe->sp_adjust = site->sp_adjust;
	probe->condition = site->condition;
}

void maps_set_entry(struct maps *maps, int series, uint32_t flags, const struct maps_site *site)
{
	struct up_probe *probe = &maps->probes[series];

	put_site(probe, site);
	__atomic_store_n(&probe->flags, flags & ~UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

void maps_take_site(struct maps *maps, int series, struct maps_site *site)
{
	struct up_probe *probe = &maps->probes[series];

	*site = (struct maps_site){.number = probe->site, .member = probe->member};
	probe->site = 0;
}

int maps_take_exits(struct maps *maps, int index, size_t n)
{
	struct map_series *series = &maps->series[index];
	uint32_t room = maps->object->sizes.probes - maps->max_series - maps->n_exits;

	if (n > series->n_exits) {
		if (n > room)
			return -ENOSPC;
		series->first_exit = maps->max_series + maps->n_exits;
		series->n_exits = (uint32_t)n;
		maps->n_exits += (uint32_t)n;
	}
	return (int)series->first_exit;
}

void maps_set_exit(struct maps *maps, int id, int series, const struct maps_site *site)
{
	struct up_probe *probe = &maps->probes[id];

	probe->entry = (uint32_t)series;
	put_site(probe, site);
	__atomic_store_n(&probe->flags, 0, __ATOMIC_RELEASE);
}

void maps_set_mark(struct maps *maps, int id, int series, uint32_t flags, const struct up_arg *key)
{
	struct up_probe *probe = &maps->probes[id];

	probe->entry = (uint32_t)series;
	put_site(probe, &(struct maps_site){0});
	probe->key = *key;
	__atomic_store_n(&probe->flags, flags & ~UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

int maps_series_of(const struct maps *maps, int id)
{
	return (int)maps->probes[id].entry;
}

void maps_enable(struct maps *maps, int id, uint32_t tgid)
{
	struct up_probe *probe = &maps->probes[id];

	probe->tgid = tgid;
	__atomic_fetch_or(&probe->flags, UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

void maps_disable(struct maps *maps, int id)
{
	__atomic_fetch_and(&maps->probes[id].flags, ~(uint32_t)UP_PROBE_ENABLED, __ATOMIC_RELEASE);
}

static struct up_slot *slot_at(const struct maps *maps, uint32_t slot, uint32_t shard)
{
	const struct chunk *chunk = &maps->chunks[slot / UP_CHUNK_SLOTS];

	return &chunk->slots[slot % UP_CHUNK_SLOTS * maps->object->sizes.shards + shard];
}

static void add(struct maps *maps, int series, size_t word_of_slot)
{
	if (series < 0 || (uint32_t)series >= maps->n_series)
		return;
	__u64 *slot = (__u64 *)slot_at(maps, maps->series[series].slot, 0);
	__atomic_fetch_add(&slot[word_of_slot], 1, __ATOMIC_RELAXED);
}

void maps_abandon(struct maps *maps, int series, enum up_abandoned reason)
{
	add(maps, series, offsetof(struct up_slot, abandoned) / sizeof(__u64) + reason);
}

void maps_lose(struct maps *maps, int series, enum up_lost reason)
{
	add(maps, series, offsetof(struct up_slot, lost) / sizeof(__u64) + reason);
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
	read_outcomes(maps, series, maps->tables[series->table].n_cells, reading);
	for (uint32_t shard = 0; shard < shards; shard++)
		reading->entries += load(&slot_at(maps, series->slot, shard)->entries);
}

uint64_t maps_memory_bytes(const struct maps *maps, uint64_t *at_most)
{
	if (at_most)
		*at_most = maps->fixed_bytes + maps->object->sizes.chunks * chunk_bytes(maps);
	return maps->fixed_bytes + maps->n_chunks * chunk_bytes(maps);
}
