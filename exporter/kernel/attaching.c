/*
 * A plan on its way to its links: each probe gets its series and records, goes into the group of
 * probes that share a link, and the groups are linked.
 *
 * Probes are linked while their records are disabled and enabled after: a link that is only
 * tried (see linking.c) counts nothing, and a call is counted either from entry to exit or not at
 * all.
 */
#include "kernel/attaching.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "kernel/group.h"
#include "kernel/linking.h"
#include "kernel/perprocess.h"
#include "kernel/privs.h"
#include "kernel/refuse.h"

/* A plan on its way to its links. */
struct attaching {
	const struct plan *plan;
	struct attach_result *results; /* plan->n_probes, as is `members` */
	struct member *members;	       /* of those that are attached now */
	struct group_list groups;
};

/* Give a probe its series; false, with the reason in `result`, when there is none left. */
static bool ensure_series(struct attach *attach, const struct plan_probe *probe,
			  struct attach_result *result)
{
	struct err err;

	if (result->series >= 0)
		return true;
	int series = attacher_add_series(attach, probe->function->buckets, &err);
	if (series < 0) {
		refuse(result, err.reason, "%.*s", (int)sizeof(result->detail) - 1, err.msg);
		return false;
	}
	result->series = series;
	return true;
}

/* The kernel's own filter does for a pid, where it works. */
static void enable_list(struct attach *attach, const struct group *group,
			const struct site_list *list, const struct attaching *attaching)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t owner = list->owners[i];
		bool by_kernel = spec_is_pid_only(attaching->plan->probes[owner].target) &&
				 attach->loaded.feature.pid_filter && group->pid;
		maps_enable(attach->loaded.maps, (int)list->cookies[i],
			    by_kernel ? 0 : (uint32_t)attaching->results[owner].filter);
	}
}

static void enable_group(struct attach *attach, struct group *group, const struct linked *linked,
			 struct attaching *attaching)
{
	struct open_group *open = vec_push(&attach->opened.groups);

	open->dev = group->file->dev;
	open->ino = group->file->ino;
	open->pid = group->pid;
	open->linked = *linked;
	open->n_entries = group->entries.n;
	open->keeps_calls =
		group->strategy == STRATEGY_RETURN_SITES || group->strategy == STRATEGY_USDT;
	if (open->keeps_calls)
		attach->keeps_calls = true;
	enable_list(attach, group, &group->exits, attaching); /* before the calls that need them */
	enable_list(attach, group, &group->entries, attaching);
	for (size_t i = 0; i < group->entries.n; i++) {
		size_t owner = group->entries.owners[i];
		struct attach_result *result = &attaching->results[owner];
		if (!result->attached)
			*vec_push(&open->members) = attaching->members[owner];
		result->attached = true;
		result->reason = REASON_NONE;
		result->detail[0] = '\0';
	}
	if (group->filter)
		open->per_process = perprocess_new(group);
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

	if (!privs_in_initial_pid_namespace()) {
		/* Before 6.10 the kernel's filter misses threads; ours compares these pids. */
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

/* Links per process need the kernel's filter, and to be few: the perf tier has some for each site.
 */
static bool may_link_processes(const struct attach *attach, const struct group *group,
			       struct attach_result *results)
{
	if (attach->loaded.feature.pid_filter && attach_tier(attach) != TIER_PERF &&
	    privs_in_initial_pid_namespace())
		return true;
	refuse_group(group, results, REASON_HOST_COST,
		     "more programs than limits.host_programs map the file, and the selected "
		     "processes cannot get links of their own here (that takes a kernel from 6.10, "
		     "not the perf tier, and the host's pid namespace): process: {pid: N}, or "
		     "host_cost: allow");
	return false;
}

static void attach_group(struct attach *attach, struct group *group, struct attaching *attaching)
{
	const struct spec_target *target = attaching->plan->probes[group->entries.owners[0]].target;
	struct linking linking = {
		.loaded = &attach->loaded,
		.group = group,
		.results = attaching->results,
		.perf_room = &attach->opened.perf_room,
		.stop = attach->options.stop,
	};
	size_t perf_room = attach->opened.perf_room;
	struct linked linked;

	if (group->pid && !attach->loaded.feature.pid_filter &&
	    !may_link_openly(group, target, attaching->results))
		return;
	if (group->filter && !may_link_processes(attach, group, attaching->results))
		return;
	linking_open(&linking, &linked);
	if (group->filter) { /* ours were a trial; the processes get theirs when they are selected
			      */
		linkset_close(&linked.entries);
		linkset_close(&linked.exits);
	}
	if (group->entries.n) {
		enable_group(attach, group, &linked, attaching);
		return;
	}
	linkset_close(&linked.entries); /* of a probe that has other sites which were refused */
	linkset_close(&linked.exits);
	attach->opened.perf_room = perf_room;
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

/*
 * Whether a probe shows the measurement of another. Not if it has a series of its own already, from
 * when each was attached by itself: that one goes on.
 */
static bool shows_another(const struct attaching *attaching, size_t index)
{
	const struct plan_probe *shown = attaching->plan->probes[index].shared_with;

	if (!shown)
		return false;
	const struct attach_result *result = &attaching->results[shown - attaching->plan->probes];
	int own = attaching->results[index].series;
	return own < 0 ? !result->attached || result->series >= 0 : own == result->series;
}

static bool can_attach(struct attach *attach, const struct attaching *attaching, size_t index)
{
	const struct plan_probe *probe = &attaching->plan->probes[index];
	struct attach_result *result = &attaching->results[index];

	if (result->attached)
		return false; /* by an earlier plan */
	if (result->filter < 0 && !probe->reason)
		return false;
	result->reason = probe->reason;
	result->detail[0] = '\0';
	return probe->reason == REASON_NONE && !shows_another(attaching, index) &&
	       kernel_is_safe_for(attach, probe, result) && ensure_series(attach, probe, result);
}

/* The ids of a probe: the entry's, and `more`. False, with the reason, when there is no room. */
static bool take_ids(struct attach *attach, struct attaching *attaching, size_t index, size_t more)
{
	struct attach_result *result = &attaching->results[index];
	struct member *member = &attaching->members[index];

	member->series = result->series;
	member->n_ids = 1 + more;
	member->first = maps_take_ids(attach->loaded.maps, result->series, member->n_ids);
	if (member->first >= 0)
		return true;
	refuse(result, REASON_LIMIT, "no room for more probes; raise limits.series");
	return false;
}

/*
 * In the perf tier each site has links of its own: a probe that is taken away takes its links along
 * when it is a group by itself, and makes room for others.
 */
static struct group *group_for(const struct attach *attach, struct attaching *attaching,
			       size_t index)
{
	return group_of(&attaching->groups, &attaching->plan->probes[index],
			attaching->results[index].filter, attach_tier(attach) == TIER_PERF);
}

/* The flag of probes whose calls are told apart by the groups of processes. */
static uint32_t grouped(const struct plan_probe *probe)
{
	return probe->target->labels_from ? UP_PROBE_GROUPED : 0;
}

/* Put a USDT probe's sites into its group; the series has no entry of its own. */
static void add_marks(struct attach *attach, struct attaching *attaching, size_t index)
{
	const struct plan_probe *probe = &attaching->plan->probes[index];
	struct group *group = group_for(attach, attaching, index);

	if (!take_ids(attach, attaching, index, probe->n_marks))
		return;
	int entry = attaching->members[index].first;
	for (size_t i = 0; i < probe->n_marks; i++) {
		const struct plan_mark *mark = &probe->marks[i];
		int id = entry + 1 + (int)i;
		uint32_t flags = probe->function->by == BY_USDT ? UP_PROBE_COUNT_ONLY
				 : mark->ends			? UP_PROBE_ENDS
								: 0;
		maps_set_mark(attach->loaded.maps, id, entry, flags | grouped(probe), &mark->key);
		site_list_add(&group->entries, &(struct site){.offset = mark->offset,
							      .cookie = (uint64_t)id,
							      .semaphore = mark->semaphore,
							      .owner = index});
	}
}

/* The exits that are probed themselves. */
static void add_exits(struct attach *attach, struct group *group, const struct plan_probe *probe,
		      int entry, size_t index)
{
	for (size_t i = 0; i < probe->n_sites; i++) {
		const struct plan_site *site = &probe->sites[i];
		struct maps_site exit = {.sp_adjust = site->sp_adjust,
					 .condition = site->condition};
		int id = entry + 1 + (int)i;
		maps_set_exit(attach->loaded.maps, id, entry, &exit);
		site_list_add(&group->exits, &(struct site){.offset = site->offset,
							    .cookie = (uint64_t)id,
							    .owner = index});
	}
}

/* Put the entry, and the exits that are probed themselves, into the probe's group. */
static void add_function(struct attach *attach, struct attaching *attaching, size_t index)
{
	static const uint32_t flags_of[] = {
		[STRATEGY_NONE] = UP_PROBE_COUNT_ONLY,
		[STRATEGY_URETPROBE] = 0,
		[STRATEGY_RETURN_SITES] = UP_PROBE_RETURN_SITES,
	};
	const struct plan_probe *probe = &attaching->plan->probes[index];
	struct group *group = group_for(attach, attaching, index);
	struct member *member = &attaching->members[index];
	struct maps_site entry = {
		.sp_adjust = probe->entry_sp_adjust,
		.condition = probe->entry_condition,
	};

	member->place = sites_place(probe->file, probe->entry_offset);
	if (opened_measures(&attach->opened, member->place, attaching->results[index].series)) {
		attaching->results[index].attached = true; /* by another target's, on its return */
		return;
	}
	if (sites_take(&attach->opened.sites, member->place, &entry.number, &entry.member)) {
		refuse(&attaching->results[index], REASON_LIMIT,
		       "%d probes with other settings are on this function already",
		       UP_SITE_PROBES);
		return;
	}
	member->member = entry.member;
	member->has_site = true;
	if (!take_ids(attach, attaching, index, probe->n_sites))
		return;
	maps_set_entry(attach->loaded.maps, member->first,
		       flags_of[probe->strategy] | grouped(probe), &entry);
	add_exits(attach, group, probe, member->first, index);
	site_list_add(&group->entries, &(struct site){.offset = probe->entry_offset,
						      .cookie = (uint64_t)member->first,
						      .owner = index});
}

static void add_probes(struct attach *attach, struct attaching *attaching)
{
	const struct plan *plan = attaching->plan;

	for (size_t i = 0; i < plan->n_probes; i++) {
		attaching->members[i] = (struct member){.series = -1, .first = -1};
		if (!can_attach(attach, attaching, i))
			continue;
		if (plan->probes[i].strategy == STRATEGY_USDT)
			add_marks(attach, attaching, i);
		else
			add_function(attach, attaching, i);
	}
}

static void attach_groups(struct attach *attach, struct attaching *attaching)
{
	struct err err;
	bool published = !maps_publish(attach->loaded.maps, &err);

	for (size_t i = 0; i < attaching->groups.n; i++) {
		struct group *group = &attaching->groups.at[i];
		if (!published)
			refuse_group(group, attaching->results, err.reason, err.msg);
		else if (group->entries.n)
			attach_group(attach, group, attaching);
	}
}

void attaching_run(struct attach *attach, const struct plan *plan, struct attach_result *results,
		   const struct attach_placed *placed)
{
	struct attaching attaching = {
		.plan = plan,
		.results = results,
		.members = alloc_zero(plan->n_probes, sizeof(*attaching.members)),
	};

	add_probes(attach, &attaching);
	placed->call(placed->context, plan, results);
	attach_groups(attach, &attaching);
	group_list_fini(&attaching.groups);
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (!results[i].attached)
			opened_give_back(&attach->opened, &attaching.members[i]);
		if (probe->reason == REASON_NONE && !results[i].attached &&
		    shows_another(&attaching, i))
			results[i] = results[probe->shared_with - plan->probes];
	}
	free(attaching.members);
}
