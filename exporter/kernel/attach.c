/*
 * The life of all probes: the tier is chosen once, then plans are attached (attaching.c), and what
 * is attached goes again.
 */
#include "kernel/attach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "kernel/attaching.h"
#include "kernel/floor.h"
#include "kernel/perprocess.h"
#include "kernel/privs.h"
#include "kernel/sweep.h"

int attach_open(const struct attach_options *options, struct attach **out, struct err *err)
{
	struct attach *attach = alloc_zero(1, sizeof(*attach));

	attach->options = *options;
	attach->opened.perf_room = options->perf_force ? SIZE_MAX / 2 : ATTACH_PERF_LIMIT;
	privs_raise_nofile();
	int result = load_open(options, &attach->loaded, err);
	if (result) {
		free(attach);
		return result;
	}
	attach->opened.loaded = &attach->loaded;
	if (mapping_open(&attach->mapping, err))
		log_debug("files are looked for in /proc", LOG_STR("why", err->msg));
	*out = attach;
	return 0;
}

enum tier attach_tier(const struct attach *attach)
{
	return attach->loaded.object.form->tier;
}

size_t attach_measure_floors(struct attach *attach, struct probe_floor *floors)
{
	return floor_measure(&attach->loaded.object, attach->loaded.maps, floors);
}

bool attach_is_sandbox_safe(const struct attach *attach)
{
	return attach->loaded.feature.sandbox_safe;
}

bool attach_pid_filter_covers_threads(const struct attach *attach)
{
	return attach->loaded.feature.pid_filter;
}

uint64_t attach_memory_bytes(const struct attach *attach, uint64_t *at_most)
{
	return maps_memory_bytes(attach->loaded.maps, at_most);
}

const char *attach_kind(const struct attach *attach, enum exit_strategy strategy)
{
	enum tier tier = attach_tier(attach);

	if (tier == TIER_SESSION && strategy != STRATEGY_URETPROBE)
		tier = TIER_MULTI;
	return tier_name(tier);
}

struct select *attach_select(struct attach *attach)
{
	return &attach->loaded.select;
}

void attach_unheard(const struct attach *attach, uint64_t *counters)
{
	for (int i = 0; i < UP_UNHEARD_REASONS; i++)
		counters[i] = select_unheard(&attach->loaded.select, (enum up_unheard)i);
}

void attach_plan(struct attach *attach, const struct plan *plan, struct attach_result *results,
		 const struct attach_placed *placed)
{
	attaching_run(attach, plan, results, placed);
}

/* ---- series ---- */

int attacher_add_series(struct attach *attach, struct buckets buckets, struct err *err)
{
	if (attach->n_series >= attach->options.limits.series)
		return err_set(err, -ENOSPC, REASON_LIMIT,
			       "all %u series are in use; raise limits.series",
			       attach->options.limits.series);
	int series = maps_add_series(attach->loaded.maps, buckets, err);
	attach->n_series += series >= 0;
	return series;
}

/* ---- the end ---- */

void attach_drop_process(struct attach *attach, pid_t pid)
{
	opened_close_process(&attach->opened, pid);
}

void attach_follow_selected(struct attach *attach)
{
	perprocess_follow(&attach->opened);
}

enum reason attach_held_back(const struct attach *attach, int series, char *detail, size_t size)
{
	return perprocess_held_back(&attach->opened, series, detail, size);
}

void attach_drop_file(struct attach *attach, dev_t dev, ino_t ino)
{
	opened_close_file(&attach->opened, dev, ino);
}

void attach_drop_series(struct attach *attach, dev_t dev, ino_t ino, const int *series, size_t n)
{
	opened_remove(&attach->opened, &(struct opened_file){dev, ino}, series, n);
}

void attach_unlink_series(struct attach *attach, const int *series, size_t n)
{
	opened_remove(&attach->opened, NULL, series, n);
}

void attach_free_series(struct attach *attach, const int *series, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maps_free_series(attach->loaded.maps, series[i]);
	attach->n_series -= (uint32_t)n;
}

int attach_add_group_series(struct attach *attach, struct buckets buckets, struct err *err)
{
	int series = attacher_add_series(attach, buckets, err);
	int result = series < 0 ? series : maps_publish(attach->loaded.maps, err);

	if (series < 0 || !result)
		return series;
	attach_free_series(attach, &series, 1);
	return result;
}

int attach_put_group(struct attach *attach, int series, uint32_t group, int into)
{
	return maps_put_group(attach->loaded.maps, series, group, into);
}

void attach_drop_group(struct attach *attach, int series, uint32_t group)
{
	maps_drop_group(attach->loaded.maps, series, group);
}

void attach_wait(const struct attach *attach)
{
	maps_wait(attach->loaded.maps);
}

void attach_end_group_series(struct attach *attach, int series, int ended, bool counts)
{
	maps_fold(attach->loaded.maps, series, ended, counts);
	attach_free_series(attach, &ended, 1);
}

int attach_look(const struct attach *attach, int fd, struct mapping_state *state)
{
	return attach->mapping ? mapping_look(attach->mapping, fd, state) : -ENOTSUP;
}

void attach_sweep(struct attach *attach)
{
	if (attach->keeps_calls)
		sweep_calls(&attach->loaded.object, attach->loaded.maps);
}

void attach_read(const struct attach *attach, int series, struct reading *reading)
{
	maps_read(attach->loaded.maps, series, reading);
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	opened_fini(&attach->opened);
	mapping_close(attach->mapping);
	load_close(&attach->loaded);
	free(attach);
}
