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
 * A series is what is counted: a slot and a bounds table. Probe records, which have ids of their
 * own, feed it: a series may be fed from several files (an old version of a program and the new
 * one), each with a run of ids, the entry's and then those of its exits or USDT sites.
 */
struct maps;

/* `object` is borrowed and must outlive the maps. */
int maps_open(const struct object *object, uint32_t max_series, struct maps **maps,
	      struct err *err);
void maps_close(struct maps *maps);

/*
 * Take a free series with these buckets: its index, or -errno with `err` (-ENOSPC with
 * REASON_LIMIT when limits.series are in use). It counts from zero. Its counters can be read, but
 * the programs find them only after maps_publish().
 */
int maps_add_series(struct maps *maps, struct buckets buckets, struct err *err);
/* Give it back. Nothing may read it any more, and the probes that feed it must be disabled. */
void maps_free_series(struct maps *maps, int series);

/* Give the programs what was added: before a series is enabled. 0, or -errno with `err`. */
int maps_publish(struct maps *maps, struct err *err);

/*
 * `n` ids in a row for probes that feed a series: the first, which is the entry's, or -ENOSPC. The
 * records are written, and disabled.
 */
int maps_take_ids(struct maps *maps, int series, size_t n);
/*
 * Give them back, once no link leads to them. Calls still open on their threads' stacks are
 * counted as abandoned all the same when they are noticed.
 */
void maps_give_ids(struct maps *maps, int first, size_t n);

/* Where and when a probe counts. */
struct maps_site {
	uint32_t number;   /* entries: the same for all probes on one instruction of one file */
	uint32_t member;   /* entries: tells those apart */
	int32_t sp_adjust; /* as struct up_probe has them */
	uint32_t condition;
};

/* Set up an entry: enum up_probe_flags, less UP_PROBE_ENABLED. Disabled. */
void maps_set_entry(struct maps *maps, int id, uint32_t flags, const struct maps_site *site);
/* Set up an exit of the function with this entry. Disabled. */
void maps_set_exit(struct maps *maps, int id, int entry, const struct maps_site *site);
/*
 * Set up a USDT site; the entry is never linked, but names the series. `flags` are
 * UP_PROBE_COUNT_ONLY, UP_PROBE_ENDS or 0. Disabled.
 */
void maps_set_mark(struct maps *maps, int id, int entry, uint32_t flags, const struct up_arg *key);

/*
 * The series that a probe feeds; -1: none any more, or its record is another probe's than it was
 * with this generation. In any thread.
 */
int maps_series_of(const struct maps *maps, int id, uint32_t generation);

/*
 * Count a call of a series (-1: nothing is counted), entered in a group (0: none), as abandoned,
 * from this side.
 */
void maps_abandon(struct maps *maps, int series, uint32_t group, enum up_abandoned reason);

/*
 * Calls of a group (below UP_GROUPS, not 0) are counted in a series of their own, `into`, instead
 * of `series`, whose buckets it has; from now on. 0 or -errno.
 */
int maps_put_group(struct maps *maps, int series, uint32_t group, int into);
/* No more. */
void maps_drop_group(struct maps *maps, int series, uint32_t group);
/*
 * A series of a group is about to be given back: keep what it counted in the counters of `series`,
 * but in its cells. `counts`: its entries are all that it counted.
 */
void maps_fold(struct maps *maps, int series, int ended, bool counts);

/*
 * Write a probe record: count or ignore. `filter` is 1 + that of the processes that count; 0: every
 * process.
 */
void maps_enable(struct maps *maps, int probe, uint32_t filter);
void maps_disable(struct maps *maps, int probe);

/* Until no program runs any more that began before this call. */
void maps_wait(const struct maps *maps);

/* Sum a series over its shards; takes no system call and may run in any thread. */
void maps_read(const struct maps *maps, int series, struct reading *reading);

/* Memory of all maps now, and when every series is in use. */
uint64_t maps_memory_bytes(const struct maps *maps, uint64_t *at_most);

#endif
