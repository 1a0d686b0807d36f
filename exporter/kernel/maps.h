/*
 * The exporter's side of the maps: which series has which slot and bounds table, the probe
 * records, and the reading of counters through mapped memory.
 */
#ifndef KERNEL_MAPS_H
#define KERNEL_MAPS_H

#include "kernel/object.h"
#include "model/layout.h"
#include "model/reading.h"

/*
 * A series is an index, which is also the id of the entry probe that feeds it. Probes on exits
 * have ids of their own, above all series.
 */
struct maps;

/* `object` is borrowed and must outlive the maps. */
int maps_open(const struct object *object, uint32_t max_series, struct maps **maps,
	      struct err *err);
void maps_close(struct maps *maps);

/*
 * Take a free series with these buckets: its index, or -errno with `err` (-ENOSPC with
 * REASON_LIMIT when limits.series are in use). The record is written disabled; its counters can
 * be read, but the programs find them only after maps_publish().
 */
int maps_add_series(struct maps *maps, struct buckets buckets, struct err *err);

/* Give the programs what was added: before a series is enabled. 0, or -errno with `err`. */
int maps_publish(struct maps *maps, struct err *err);

/* Where and when a probe counts. */
struct maps_site {
	uint32_t number;   /* entries: the same for all probes on one instruction of one file */
	uint32_t member;   /* entries: tells those apart */
	int32_t sp_adjust; /* as struct up_probe has them */
	uint32_t condition;
};

/* Set up the entry probe of a series: enum up_probe_flags, less UP_PROBE_ENABLED. Disabled. */
void maps_set_entry(struct maps *maps, int series, uint32_t flags, const struct maps_site *site);

/* Where the entry probe of a series was set up, which is forgotten: its number is 0 next time. */
void maps_take_site(struct maps *maps, int series, struct maps_site *site);

/*
 * `n` ids in a row for probes on exits of the function whose entry feeds `series`, or on the
 * USDT sites that do: the first, or -ENOSPC. The series keeps them: a later call for as many or
 * fewer gives the same.
 */
int maps_take_exits(struct maps *maps, int series, size_t n);
/* Set up one of them. Disabled. */
void maps_set_exit(struct maps *maps, int id, int series, const struct maps_site *site);

/*
 * Set up one of them as a USDT site: `flags` are UP_PROBE_COUNT_ONLY, UP_PROBE_ENDS or 0. Disabled.
 */
void maps_set_mark(struct maps *maps, int id, int series, uint32_t flags, const struct up_arg *key);

/* The series that a probe feeds. */
int maps_series_of(const struct maps *maps, int probe);

/* Count a call of `series` as abandoned, from this side. */
void maps_abandon(struct maps *maps, int series, enum up_abandoned reason);
/* The same as lost. */
void maps_lose(struct maps *maps, int series, enum up_lost reason);

/* Write a probe record: count or ignore; `tgid` 0 counts every process. */
void maps_enable(struct maps *maps, int probe, uint32_t tgid);
void maps_disable(struct maps *maps, int probe);

/* Sum a series over its shards; takes no system call and may run in any thread. */
void maps_read(const struct maps *maps, int series, struct reading *reading);

/* Memory of all maps now, and when every series is in use. */
uint64_t maps_memory_bytes(const struct maps *maps, uint64_t *at_most);

#endif
