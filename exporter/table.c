/* What becomes of probes: attaching them, noting it, and letting go of what is not needed. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adopt.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "target/resolve.h"

double table_now_unix(void)
{
	return (double)clock_read_ns(CLOCK_REALTIME) / 1e9;
}

void table_init_target(struct target *target, const struct spec_target *spec)
{
	*target = (struct target){.spec = spec, .pidfd = -1, .created_unix = table_now_unix()};
}

const struct plan_file *table_file_of(const struct plan_probe *probes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (probes[i].file)
			return probes[i].file;
	return NULL;
}

const struct plan_file *table_attached_file(const struct target *target)
{
	for (size_t i = 0; i < target->n_probes; i++)
		if (target->probes[i].status.attached)
			return target->probes[i].plan->file;
	return NULL;
}

void table_note_file(struct target *target, const struct plan_file *file)
{
	target->stamp = file ? file_stamp_of_plan(file) : (struct file_stamp){0};
}

void table_fini_target(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	for (size_t i = 0; i < target->superseded.n; i++)
		superseded_fini(&target->superseded.at[i]);
	vec_fini(&target->superseded);
	label_sets_fini(&target->label_sets);
	free(target->probes);
}

/* ---- outcomes ---- */

/* The label that a probe's series have beside `target`. */
static const char *label_name(const struct plan_probe *plan)
{
	return spec_is_usdt(plan->function) ? "probe" : "function";
}

/* Whom the link touches: see ARCHITECTURE.md. */
static const char *placed_in(const struct probes *probes, const struct plan_probe *plan)
{
	if (plan->per_process)
		return "each selected process";
	return plan->target->pid && attach_pid_filter_covers_threads(probes->attach)
		       ? "the selected process"
		       : "every process that maps the file";
}

static void log_attached(const struct probes *probes, const struct probe *probe)
{
	const struct plan_probe *plan = probe->plan;

	log_at(plan->warning ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "probe attached",
	       LOG_STR("target", plan->target->name), LOG_STR(label_name(plan), plan->label),
	       LOG_STR("binary", plan->file->path), LOG_STR("symbol", plan->symbol),
	       LOG_HEX("offset", plan->entry_offset),
	       LOG_STR("exit", exit_strategy_name(plan->strategy)),
	       LOG_STR("kind", probe->status.kind), LOG_STR("placed_in", placed_in(probes, plan)),
	       LOG_INT("mapping_processes", plan->file->mapping_processes),
	       LOG_STR("warning", plan->warning));
}

static void log_refused(const struct probe *probe, const char *detail)
{
	const struct plan_probe *plan = probe->plan;

	log_warn("probe not attached", LOG_STR("target", plan->target->name),
		 LOG_STR(label_name(plan), plan->label), LOG_STR("binary", plan->target->binary),
		 LOG_STR("reason", reason_name(probe->status.reason)), LOG_STR("detail", detail));
}

/* Once for each outcome: a probe that keeps failing for one reason is mentioned once. */
static void note(struct probes *probes, struct probe *probe, const struct plan_probe *plan,
		 const struct attach_result *result)
{
	enum reason reason = result->attached ? REASON_NONE : result->reason;
	bool changed = !probe->logged || probe->status.attached != result->attached ||
		       probe->status.reason != reason;

	pthread_mutex_lock(&probes->lock);
	probe->plan = plan;
	probe->series = result->series;
	probe->status.attached = result->attached;
	probe->status.reason = reason;
	probe->status.kind = result->attached ? attach_kind(probes->attach, plan->strategy) : NULL;
	pthread_mutex_unlock(&probes->lock);
	probe->logged = true;
	if (changed && result->attached)
		log_attached(probes, probe);
	else if (changed)
		log_refused(probe, *result->detail ? result->detail : plan->detail);
}

int table_filter_of(const struct probes *probes, const struct plan_probe *plan,
		    struct attach_result *result)
{
	struct err err;
	int filter = filters_of(probes->filters, plan->target, &err);

	if (filter < 0) {
		result->reason = err.reason;
		snprintf(result->detail, sizeof(result->detail), "%.*s",
			 (int)sizeof(result->detail) - 1, err.msg);
	}
	return filter;
}

void table_placed(void *context, const struct plan *plan, const struct attach_result *results)
{
	const struct table_placed *placed = context;
	struct probes *probes = placed->probes;

	if (!groups_are_wanted(probes->groups))
		return;
	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < plan->n_probes; i++)
		if (placed->owners[i])
			placed->owners[i]->series = results[i].series;
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; i < probes->n_targets; i++)
		label_sets_renew(probes, &probes->targets[i]);
}

void table_attach(struct probes *probes, const struct plan *plan, struct probe *const *owners)
{
	struct attach_result *results = alloc_zero(plan->n_probes, sizeof(*results));

	for (size_t i = 0; i < plan->n_probes; i++) {
		results[i].attached = !owners[i] || owners[i]->status.attached;
		results[i].series = owners[i] ? owners[i]->series : -1;
		results[i].filter = table_filter_of(probes, &plan->probes[i], &results[i]);
	}
	attach_plan(probes->attach, plan, results,
		    &(struct attach_placed){table_placed, &(struct table_placed){probes, owners}});
	/* Asked to end in the middle of it: what was not attached any more is no outcome. */
	for (size_t i = 0; i < plan->n_probes && !*loop_stop_flag(); i++)
		if (owners[i])
			note(probes, owners[i],
			     owners[i]->status.attached ? owners[i]->plan : &plan->probes[i],
			     &results[i]);
	free(results);
}

void table_detached(struct probes *probes, struct probe *probe, enum reason reason,
		    const char *detail)
{
	struct attach_result result = {.reason = reason, .series = probe->series};

	snprintf(result.detail, sizeof(result.detail), "%s", detail);
	note(probes, probe, probe->plan, &result);
}

/* ---- what is not needed any more ---- */

static bool plan_in_use(const struct probes *probes, const struct plan *plan)
{
	for (size_t i = 0; i < probes->n_targets; i++) {
		const struct target *target = &probes->targets[i];
		for (size_t j = 0; j < target->n_probes; j++)
			if (target->probes[j].plan >= plan->probes &&
			    target->probes[j].plan < plan->probes + plan->n_probes)
				return true;
	}
	return false;
}

static bool spec_in_use(const struct probes *probes, const struct spec *spec)
{
	for (size_t i = 0; i < probes->plans.n; i++)
		if (probes->plans.at[i]->spec == spec)
			return true;
	return spec == probes->spec;
}

void table_drop_unused(struct probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	for (size_t i = probes->plans.n; i-- > 0;) {
		if (plan_in_use(probes, probes->plans.at[i]))
			continue;
		plan_free(probes->plans.at[i]);
		probes->plans.at[i] = probes->plans.at[--probes->plans.n];
	}
	for (size_t i = probes->specs.n; i-- > 0;) {
		if (spec_in_use(probes, probes->specs.at[i]))
			continue;
		spec_free(probes->specs.at[i]);
		probes->specs.at[i] = probes->specs.at[--probes->specs.n];
	}
	pthread_mutex_unlock(&probes->lock);
}

/* A file that was replaced after it was looked at must not come beside the one that is probed. */
static bool is_beside(const struct target *target, const struct plan_file *file)
{
	const struct plan_file *now = table_attached_file(target);

	return now && file && (now->dev != file->dev || now->ino != file->ino);
}

struct probe **table_adopt(struct probes *probes, struct target *target, struct plan *plan)
{
	struct adopted adopted = adopt_plan(target->probes, target->n_probes, plan->probes,
					    plan->n_probes, false, table_now_unix());
	struct probe *before = target->probes;

	pthread_mutex_lock(&probes->lock);
	*vec_push(&probes->plans) = plan;
	target->probes = adopted.probes;
	target->n_probes = adopted.n;
	pthread_mutex_unlock(&probes->lock);
	free(before);
	return adopted.owners;
}

void table_retry_target(struct probes *probes, struct target *target,
			const struct file_stamp *stamp)
{
	struct plan *plan = resolve_plan(probes->spec, target->spec);
	const struct plan_file *file = table_file_of(plan->probes, plan->n_probes);

	if (is_beside(target, file)) {
		plan_free(plan);
		return;
	}
	if (file)
		follow_take_back(probes, target, file->dev, file->ino);
	target->stamp = file ? file_stamp_of_plan(file) : *stamp;
	_cleanup_free_ struct probe **owners = table_adopt(probes, target, plan);
	table_attach(probes, plan, owners);
	table_drop_unused(probes);
}
