/*
 * The life of all probes: the tier is chosen once, then plans are attached group by group.
 *
 * Probes are linked while their records are disabled and enabled after: a link that is only
 * tried (see linking.c) counts nothing, and a call is counted either from entry to exit or not at
 * all.
 */
#include "kernel/attach.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "kernel/floor.h"
#include "kernel/group.h"
#include "kernel/linking.h"
#include "kernel/load.h"
#include "kernel/privs.h"
#include "kernel/refuse.h"
#include "kernel/sites.h"
#include "kernel/sweep.h"

/* The links of one group, as long as they are open. */
struct open_group {
	dev_t dev; /* of the file */
	ino_t ino;
	pid_t pid; /* of the process filter; 0: none */
	struct linked linked;
	bool keeps_calls; /* in the map `calls` */
	int *probes; /* n_probes ids that these links are for: exits, then n_functions entries */
	size_t n_probes, n_functions;
};

struct attach {
	struct attach_options options;
	struct loaded loaded;
	VEC(struct open_group) groups;
	struct sites sites;
	size_t perf_room;	 /* functions that the perf tier may still take */
	atomic_bool keeps_calls; /* some probe has its open calls in the map `calls` */
};

int attach_open(const struct attach_options *options, struct attach **out, struct err *err)
{
	struct attach *attach = alloc_zero(1, sizeof(*attach));

	attach->options = *options;
	attach->perf_room = options->perf_force ? SIZE_MAX / 2 : ATTACH_PERF_LIMIT;
	privs_raise_nofile();
	int result = load_open(options, &attach->loaded, err);
	if (result) {
		free(attach);
		return result;
	}
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

/* ---- attaching a plan ---- */

/* Give a probe its series; false, with the reason in `result`, when there is none left. */
static bool ensure_series(struct attach *attach, const struct plan_probe *probe,
			  struct attach_result *result)
{
	struct err err;

	if (result->series >= 0)
		return true;
	int series = maps_add_series(attach->loaded.maps, probe->function->buckets, &err);
	if (series < 0) {
		refuse(result, err.reason, "%.*s", (int)sizeof(result->detail) - 1, err.msg);
		return false;
	}
	result->series = series;
	return true;
}

static void enable_list(struct attach *attach, const struct group *group,
			const struct site_list *list, struct open_group *open)
{
	uint32_t tgid = attach->loaded.feature.pid_filter ? 0 : (uint32_t)group->pid;

	for (size_t i = 0; i < list->n; i++) {
		open->probes[open->n_probes++] = (int)list->cookies[i];
		maps_enable(attach->loaded.maps, (int)list->cookies[i], tgid);
	}
}

static void enable_group(struct attach *attach, const struct group *group,
			 const struct linked *linked, struct attach_result *results)
{
	struct open_group *open = vec_push(&attach->groups);

	open->keeps_calls =
		group->strategy == STRATEGY_RETURN_SITES || group->strategy == STRATEGY_USDT;
	if (open->keeps_calls)
		attach->keeps_calls = true;
	open->dev = group->file->dev;
	open->ino = group->file->ino;
	open->pid = group->pid;
	open->linked = *linked;
	open->n_functions = group->entries.n;
	open->probes = alloc_zero(group->entries.n + group->exits.n, sizeof(*open->probes));
	enable_list(attach, group, &group->exits, open); /* before the calls that need them */
	enable_list(attach, group, &group->entries, open);
	for (size_t i = 0; i < group->entries.n; i++) {
		struct attach_result *result = &results[group->entries.owners[i]];
		result->attached = true;
		result->reason = REASON_NONE;
		result->detail[0] = '\0';
	}
}

/* Before 6.10 the kernel's pid filter misses threads; ours compares initial-namespace pids. */
static bool in_initial_pid_namespace(void)
{
	char link[64] = "";

	return readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0 &&
	       !strcmp(link, "pid:[4026531836]"); /* PROC_PID_INIT_INO */
}

static void refuse_group(const struct group *group, struct attach_result *results,
			 enum reason reason, const char *detail)
{
	for (size_t i = 0; i < group->entries.n; i++)
		refuse(&results[group->entries.owners[i]], reason, "%s", detail);
}

/*
 * Where the kernel's pid filter misses threads, a filtered group needs a link that is open to
 * every process. That must neither be in vain nor cost processes that have no part in it.
 */
static bool may_link_openly(const struct group *group, const struct spec_target *target,
			    struct attach_result *results)
{
	const char *against = NULL;
	enum reason reason = REASON_KERNEL_UNSUPPORTED;

	if (!in_initial_pid_namespace()) {
		against = "this kernel's pid filter misses threads (mended in 6.10), and the "
			  "exporter runs in a pid namespace of its own: run it with the host's";
	} else if (group->file->mapping_programs > 1 && target->host_cost == HOST_COST_REFUSE) {
		reason = REASON_HOST_COST;
		against = "this kernel's pid filter misses threads (mended in 6.10), so that every "
			  "process which maps the file would pay: --kernel.tier=perf, or "
			  "host_cost: allow";
	}
	if (against)
		refuse_group(group, results, reason, against);
	return !against;
}

static void attach_group(struct attach *attach, struct group *group, const struct plan *plan,
			 struct attach_result *results)
{
	const struct spec_target *target = plan->probes[group->entries.owners[0]].target;
	struct linking linking = {
		.loaded = &attach->loaded,
		.group = group,
		.results = results,
		.perf_room = &attach->perf_room,
		.stop = attach->options.stop,
	};
	struct linked linked;

	if (group->pid && !attach->loaded.feature.pid_filter &&
	    !may_link_openly(group, target, results))
		return;
	linking_open(&linking, &linked);
	if (group->entries.n)
		enable_group(attach, group, &linked, results);
}

/* A kernel whose return probes kill sandboxed targets gets none, unless asked for by name. */
static bool kernel_is_safe_for(const struct attach *attach, const struct plan_probe *probe,
			       struct attach_result *result)
{
	if (probe->strategy != STRATEGY_URETPROBE || attach->loaded.feature.sandbox_safe ||
	    probe->function->exit == EXIT_URETPROBE)
		return true;
	refuse(result, REASON_UNSAFE_RETURN,
	       "on this kernel a return probe trips the seccomp filter of a sandboxed program: use "
	       "exit: return-sites, or exit: uretprobe where the target has no such filter");
	return false;
}

static bool can_attach(struct attach *attach, const struct plan_probe *probe,
		       struct attach_result *result)
{
	if (result->attached)
		return false; /* by an earlier plan */
	result->reason = probe->reason;
	result->detail[0] = '\0';
	return probe->reason == REASON_NONE && !probe->shared_with &&
	       kernel_is_safe_for(attach, probe, result) && ensure_series(attach, probe, result);
}

/* The records of the exits that are probed themselves. */
static int add_exits(struct attach *attach, struct group *group, const struct plan_probe *probe,
		     size_t index, int series)
{
	int first = maps_take_exits(attach->loaded.maps, series, probe->n_sites);

	for (size_t i = 0; first >= 0 && i < probe->n_sites; i++) {
		const struct plan_site *site = &probe->sites[i];
		struct maps_site exit = {.sp_adjust = site->sp_adjust,
					 .condition = site->condition};
		maps_set_exit(attach->loaded.maps, first + (int)i, series, &exit);
		site_list_add(&group->exits, &(struct site){.offset = site->offset,
							    .cookie = (uint64_t)first + i,
							    .owner = index});
	}
	return first < 0 ? first : 0;
}

/* Put a USDT probe's sites into its group; the series has no entry of its own. */
static void add_marks(struct attach *attach, struct group_list *groups,
		      const struct plan_probe *probe, size_t index, struct attach_result *result)
{
	struct group *group = group_of(groups, probe);
	int first = maps_take_exits(attach->loaded.maps, result->series, probe->n_marks);

	if (first < 0) {
		refuse(result, REASON_LIMIT, "no room for more USDT sites; raise limits.series");
		return;
	}
	for (size_t i = 0; i < probe->n_marks; i++) {
		const struct plan_mark *mark = &probe->marks[i];
		uint32_t flags = probe->function->by == BY_USDT ? UP_PROBE_COUNT_ONLY
				 : mark->ends			? UP_PROBE_ENDS
								: 0;
		maps_set_mark(attach->loaded.maps, first + (int)i, result->series, flags,
			      &mark->key);
		site_list_add(&group->entries, &(struct site){.offset = mark->offset,
							      .cookie = (uint64_t)first + i,
							      .semaphore = mark->semaphore,
							      .owner = index});
	}
}

/* Put the entry, and the exits that are probed themselves, into the probe's group. */
static void add_function(struct attach *attach, struct group_list *groups,
			 const struct plan_probe *probe, size_t index, struct attach_result *result)
{
	static const uint32_t flags_of[] = {
		[STRATEGY_NONE] = UP_PROBE_COUNT_ONLY,
		[STRATEGY_URETPROBE] = 0,
		[STRATEGY_RETURN_SITES] = UP_PROBE_RETURN_SITES,
	};
	struct group *group = group_of(groups, probe);
	struct maps_site entry = {
		.sp_adjust = probe->entry_sp_adjust,
		.condition = probe->entry_condition,
	};

	if (sites_take(&attach->sites, probe->file, probe->entry_offset, &entry.number,
		       &entry.member)) {
		refuse(result, REASON_LIMIT,
		       "%d probes with other settings are on this function already",
		       UP_SITE_PROBES);
		return;
	}
	if (add_exits(attach, group, probe, index, result->series)) {
		sites_release(&attach->sites, entry.number, entry.member);
		refuse(result, REASON_LIMIT,
		       "no room for more probes on exits; raise limits.series");
		return;
	}
	maps_set_entry(attach->loaded.maps, result->series, flags_of[probe->strategy], &entry);
	site_list_add(&group->entries, &(struct site){.offset = probe->entry_offset,
						      .cookie = (uint64_t)result->series,
						      .owner = index});
}

/* Give back the place of a probe that is not linked, or not any more. */
static void release_site(struct attach *attach, int series)
{
	struct maps_site site;

	maps_take_site(attach->loaded.maps, series, &site);
	sites_release(&attach->sites, site.number, site.member);
}

void attach_plan(struct attach *attach, const struct plan *plan, struct attach_result *results)
{
	struct group_list groups = {0};
	struct err err;

	for (size_t i = 0; i < plan->n_probes; i++)
		if (can_attach(attach, &plan->probes[i], &results[i]))
			(plan->probes[i].strategy == STRATEGY_USDT ? add_marks : add_function)(
				attach, &groups, &plan->probes[i], i, &results[i]);
	bool published = !maps_publish(attach->loaded.maps, &err);
	for (size_t i = 0; i < groups.n; i++) {
		if (!published)
			refuse_group(&groups.at[i], results, err.reason, err.msg);
		else if (groups.at[i].entries.n)
			attach_group(attach, &groups.at[i], plan, results);
	}
	group_list_fini(&groups);
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (!results[i].attached && !probe->shared_with && results[i].series >= 0)
			release_site(attach, results[i].series);
		if (probe->reason == REASON_NONE && probe->shared_with && !results[i].attached)
			results[i] = results[probe->shared_with - plan->probes];
	}
}

/* ---- the end ---- */

static void close_group(struct attach *attach, struct open_group *open)
{
	linkset_close_entries(&open->linked.entries);
	for (size_t i = 0; i < open->n_probes; i++)
		maps_disable(attach->loaded.maps, open->probes[i]);
	linkset_close(&open->linked.entries);
	linkset_close(&open->linked.exits);
	if (open->keeps_calls)
		sweep_detached(&attach->loaded.object, attach->loaded.maps, open->probes,
			       open->n_probes);
	for (size_t i = open->n_probes - open->n_functions; i < open->n_probes; i++)
		release_site(attach, open->probes[i]); /* the entries: their ids are their series */
	attach->perf_room += open->n_functions;
	free(open->probes);
}

static void close_group_at(struct attach *attach, size_t at)
{
	close_group(attach, &attach->groups.at[at]);
	attach->groups.at[at] = attach->groups.at[--attach->groups.n];
}

void attach_drop_process(struct attach *attach, pid_t pid)
{
	for (size_t i = attach->groups.n; i-- > 0;)
		if (attach->groups.at[i].pid == pid)
			close_group_at(attach, i);
}

void attach_drop_file(struct attach *attach, dev_t dev, ino_t ino)
{
	for (size_t i = attach->groups.n; i-- > 0;)
		if (attach->groups.at[i].dev == dev && attach->groups.at[i].ino == ino)
			close_group_at(attach, i);
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
	for (size_t i = 0; i < attach->groups.n; i++)
		close_group(attach, &attach->groups.at[i]);
	vec_fini(&attach->groups);
	sites_fini(&attach->sites);
	load_close(&attach->loaded);
	free(attach);
}
