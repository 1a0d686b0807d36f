/*
 * The exporter's side of the maps: which series has which slot and bounds table, the probe
 * records, and the reading of counters through mapped memory.
 */
#ifndef KERNEL_MAPS_H
#define KERNEL_MAPS_H

#include "kernel/object.h"
#include "model/layout.h"
#include "model/reading.h"

/* A series is an index, which is also the id of the probe that feeds it. */
struct maps;

/* `object` is borrowed and must outlive the maps. */
int maps_open(const struct object *object, uint32_t max_series, struct maps **maps,
	      struct err *err);
void maps_close(struct maps *maps);

/*
 * Take a free series with these buckets: its index, or -errno with `err` (-ENOSPC with
 * REASON_LIMIT when limits.series are in use). The record is written disabled.
 */
int maps_add_series(struct maps *maps, struct buckets buckets, uint32_t flags, struct err *err);

/* Say which instruction of which file the series' probe sits on: probes on one have one number. */
void maps_set_site(struct maps *maps, int series, uint32_t site);

/* Write the probe record: count or ignore; `tgid` 0 counts every process. */
void maps_enable(struct maps *maps, int series, uint32_t tgid);
void maps_disable(struct maps *maps, int series);

/* Sum a series over its shards; takes no system call and may run in any thread. */
void maps_read(const struct maps *maps, int series, struct reading *reading);

/* Memory of all maps now, and when every series is in use. */
uint64_t maps_memory_bytes(const struct maps *maps, uint64_t *at_most);

#endif
