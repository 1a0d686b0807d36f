/*
 * The table of configured probes. A target's probes are those of its plan: a pattern may find
 * others when its file is resolved again, but what was attached stays as long as the exporter.
 */
#include "probes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "adopt.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "file_stamp.h"
#include "probe.h"
#include "target/resolve.h"

struct target {
	const struct spec_target *spec;
	struct probe *probes; /* n_probes of them, with labels that differ; owned */
	size_t n_probes;
	struct file_stamp stamp; /* of its file when that was last resolved */
	struct file_stamp seen;	 /* and when it was last looked at */
	int pidfd;		 /* of a filtered target's process while attached; -1 */
	bool ended; /* that process has ended: a pid names one process, not its successor */
};

struct probes {
	const struct spec *spec;
	struct attach *attach;
	struct loop *loop;
	VEC(struct plan *) plans; /* that some probe points into; the first one is of all targets */
	struct target *targets;
	double started_unix;
	atomic_bool ready;
	pthread_mutex_t sweep_lock; /* one sweep at a time; not held with `lock` */
	pthread_mutex_t lock;	    /* over plans, probes, statuses and series, against snapshots */
};

static double now_unix(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- life ---- */

/* The plan has the probes of each target one after another. */
static void init_probes(struct probes *probes, const struct plan *plan)
{
	const struct plan_probe *next = plan->probes, *end = next + plan->n_probes;

	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		const struct plan_probe *first = next;
		while (next < end && next->target == target->spec)
			next++;
		target->n_probes = (size_t)(next - first);
		target->probes = alloc_zero(target->n_probes, sizeof(*target->probes));
		for (size_t j = 0; j < target->n_probes; j++)
			target->probes[j] = probe_of(&first[j], probes->started_unix);
	}
}

static void init_targets(struct probes *probes)
{
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		target->spec = &probes->spec->targets[i];
		target->pidfd = -1;
		target->stamp = file_stamp_of(target->spec->binary);
	}
}

struct probes *probes_new(const struct spec *spec, struct attach *attach, struct loop *loop)
{
	struct probes *probes = alloc_zero(1, sizeof(*probes));

	probes->spec = spec;
	probes->attach = attach;
	probes->loop = loop;
	probes->started_unix = now_unix();
	pthread_mutex_init(&probes->lock, NULL);
	pthread_mutex_init(&probes->sweep_lock, NULL);
	probes->targets = alloc_zero(spec->n_targets, sizeof(*probes->targets));
	init_targets(probes); /* the stamps first: a file that changes meanwhile is tried again */
	struct plan *plan = resolve_plan(spec, NULL);
	*vec_push(&probes->plans) = plan;
	init_probes(probes, plan);
	return probes;
}

void probes_free(struct probes *probes)
{
	if (!probes)
		return;
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		if (probes->targets[i].pidfd >= 0)
			close(probes->targets[i].pidfd);
		free(probes->targets[i].probes);
	}
	for (size_t i = 0; i < probes->plans.n; i++)
		plan_free(probes->plans.at[i]);
	vec_fini(&probes->plans);
	pthread_mutex_destroy(&probes->lock);
	pthread_mutex_destroy(&probes->sweep_lock);
	free(probes->targets);
	free(probes);
}

bool probes_ready(struct probes *probes)
{
	return atomic_load(&probes->ready);
}

/* ---- outcomes ---- */

/* The label that a probe's series have beside `target`. */
static const char *label_name(const struct plan_probe *plan)
{
	return spec_is_usdt(plan->function) ? "probe" : "function";
}

static void log_attached(const struct probe *probe)
{
	const struct plan_probe *plan = probe->plan;

	log_at(plan->warning ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "probe attached",
	       LOG_STR("target", plan->target->name), LOG_STR(label_name(plan), plan->label),
	       LOG_STR("binary", plan->file->path), LOG_STR("symbol", plan->symbol),
	       LOG_HEX("offset", plan->entry_offset),
	       LOG_STR("exit", exit_strategy_name(plan->strategy)),
	       LOG_STR("kind", probe->status.kind), LOG_STR("warning", plan->warning));
}

static void log_refused(const struct probe *probe, const char *detail)
{
	const struct plan_probe *plan = probe->plan;

	log_warn("probe not attached", LOG_STR("target", plan->target->name),
		 LOG_STR(label_name(plan), plan->label), LOG_STR("binary", plan->target->binary),
		 LOG_STR("reason", reason_name(probe->status.reason)), LOG_STR("detail", detail));
}

/* How a probe is attached: one without a return probe has no session, just an entry link. */
static const char *kind_of(const struct probes *probes, const struct plan_probe *plan)
{
	enum tier tier = attach_tier(probes->attach);

	if (tier == TIER_SESSION && plan->strategy != STRATEGY_URETPROBE)
		tier = TIER_MULTI;
	return tier_name(tier);
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
	probe->status.kind = result->attached ? kind_of(probes, plan) : NULL;
	pthread_mutex_unlock(&probes->lock);
	probe->logged = true;
	if (changed && result->attached)
		log_attached(probe);
	else if (changed)
		log_refused(probe, *result->detail ? result->detail : plan->detail);
}

/* Attach `plan`; each of its probes is that of `owners`, NULL where another has its label. */
static void attach_and_note(struct probes *probes, const struct plan *plan,
			    struct probe *const *owners)
{
	struct attach_result *results = alloc_zero(plan->n_probes, sizeof(*results));

	for (size_t i = 0; i < plan->n_probes; i++) {
		results[i].attached = !owners[i] || owners[i]->status.attached;
		results[i].series = owners[i] ? owners[i]->series : -1;
	}
	attach_plan(probes->attach, plan, results);
	/* Asked to end in the middle of it: what was not attached any more is no outcome. */
	for (size_t i = 0; i < plan->n_probes && !*loop_stop_flag(); i++)
		if (owners[i])
			note(probes, owners[i],
			     owners[i]->status.attached ? owners[i]->plan : &plan->probes[i],
			     &results[i]);
	free(results);
}

/* ---- filtered processes ---- */

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void process_ended(void *context, int fd)
{
	struct probes *probes = context;
	static const struct attach_result gone = {
		.reason = REASON_PROCESS_NOT_FOUND,
		.detail = "the process has ended; its pid is not followed further",
	};

	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		if (target->pidfd != fd)
			continue;
		loop_unwatch(probes->loop, fd);
		close(fd);
		target->pidfd = -1;
		target->ended = true;
		attach_drop_process(probes->attach, target->spec->pid);
		for (size_t j = 0; j < target->n_probes; j++) {
			struct attach_result result = gone;
			result.series = target->probes[j].series;
			if (target->probes[j].status.attached)
				note(probes, &target->probes[j], target->probes[j].plan, &result);
		}
		return;
	}
}

/* Hear of the end of a filtered target's process. */
static void watch_process(struct probes *probes, struct target *target)
{
	if (!target->spec->pid || target->pidfd >= 0 || target->ended)
		return;
	target->pidfd = open_pidfd(target->spec->pid);
	if (target->pidfd >= 0)
		loop_watch(probes->loop, target->pidfd, process_ended, probes);
}

/* ---- passes ---- */

static void attach_first(struct probes *probes, const struct plan *plan)
{
	_cleanup_free_ struct probe **owners = alloc_zero(plan->n_probes, sizeof(*owners));
	size_t n = 0;

	for (size_t i = 0; i < probes->spec->n_targets; i++)
		for (size_t j = 0; j < probes->targets[i].n_probes; j++)
			owners[n++] = &probes->targets[i].probes[j];
	attach_and_note(probes, plan, owners);
}

void probes_attach(struct probes *probes)
{
	for (size_t i = 0; i < probes->spec->n_targets; i++)
		watch_process(probes, &probes->targets[i]);
	attach_first(probes, probes->plans.at[0]);
	atomic_store(&probes->ready, !*loop_stop_flag());
}

/* Reasons that may pass although the file stays the same. */
static bool passes_by_itself(const struct target *target, enum reason reason)
{
	switch (reason) {
	case REASON_PROCESS_NOT_FOUND:
		return !target->ended && target->pidfd >= 0;
	case REASON_OUT_OF_RESOURCES:
	case REASON_BINARY_UNREADABLE:
		return true;
	default:
		return false;
	}
}

static bool worth_retrying(const struct target *target, const struct file_stamp *stamp)
{
	bool missing = false, file_changed = !file_stamp_equal(stamp, &target->stamp);

	if (target->ended)
		return false;
	for (size_t i = 0; i < target->n_probes; i++) {
		const struct probe_status *status = &target->probes[i].status;
		missing |= !status->attached &&
			   (file_changed || passes_by_itself(target, status->reason));
	}
	return missing;
}

static bool in_use(const struct probes *probes, const struct plan *plan)
{
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		const struct target *target = &probes->targets[i];
		for (size_t j = 0; j < target->n_probes; j++)
			if (target->probes[j].plan >= plan->probes &&
			    target->probes[j].plan < plan->probes + plan->n_probes)
				return true;
	}
	return false;
}

/* Release the plans that no probe points into any more; snapshots only read under the lock. */
static void drop_unused_plans(struct probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < probes->plans.n;) {
		if (in_use(probes, probes->plans.at[i])) {
			i++;
			continue;
		}
		plan_free(probes->plans.at[i]);
		probes->plans.at[i] = probes->plans.at[--probes->plans.n];
	}
	pthread_mutex_unlock(&probes->lock);
}

static void retry_target(struct probes *probes, struct target *target)
{
	struct plan *plan = resolve_plan(probes->spec, target->spec);
	struct adopted adopted = adopt_plan(target->probes, target->n_probes, plan, now_unix());
	struct probe *before = target->probes;

	pthread_mutex_lock(&probes->lock);
	*vec_push(&probes->plans) = plan;
	target->probes = adopted.probes;
	target->n_probes = adopted.n;
	pthread_mutex_unlock(&probes->lock);
	free(before);
	attach_and_note(probes, plan, adopted.owners);
	free(adopted.owners);
	drop_unused_plans(probes);
}

/* ---- files that change ---- */

static bool is_attached(const struct target *target)
{
	for (size_t i = 0; i < target->n_probes; i++)
		if (target->probes[i].status.attached)
			return true;
	return false;
}

/*
 * The file was written to: what is probed is not what was resolved, and programs that start from
 * it run into breakpoints inside other instructions. Whichever target it is of.
 */
static void drop_file(struct probes *probes, const struct file_stamp *stamp)
{
	static const struct attach_result changed = {
		.reason = REASON_BINARY_CHANGED,
		.detail =
			"the file was written to in place; it is probed again when that has ended",
	};

	attach_drop_file(probes->attach, stamp->dev, stamp->ino);
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		for (size_t j = 0; j < target->n_probes; j++) {
			struct probe *probe = &target->probes[j];
			struct attach_result result = changed;
			if (!probe->status.attached || probe->plan->file->dev != stamp->dev ||
			    probe->plan->file->ino != stamp->ino)
				continue;
			result.series = probe->series;
			note(probes, probe, probe->plan, &result);
		}
	}
}

/* Look at a target's file; false while it is being written, when nothing should be resolved. */
static bool check_file(struct probes *probes, struct target *target, const struct file_stamp *stamp)
{
	bool settled = file_stamp_equal(stamp, &target->seen);

	if (settled || !is_attached(target))
		return settled || !file_stamp_same_inode(stamp, &target->seen);
	if (file_stamp_same_inode(stamp, &target->stamp)) {
		if (file_stamp_content_differs(stamp, &target->stamp))
			drop_file(probes, stamp);
	} else {
		log_warn("the file was replaced: processes that start from the new one are not "
			 "measured until the exporter is restarted",
			 LOG_STR("target", target->spec->name),
			 LOG_STR("binary", target->spec->binary));
	}
	return false;
}

static void sweep(struct probes *probes)
{
	pthread_mutex_lock(&probes->sweep_lock);
	attach_sweep(probes->attach);
	pthread_mutex_unlock(&probes->sweep_lock);
}

void probes_retry(struct probes *probes)
{
	sweep(probes);
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		struct file_stamp stamp = file_stamp_of(target->spec->binary);
		bool settled = check_file(probes, target, &stamp);
		target->seen = stamp;
		watch_process(probes, target);
		if (!settled || !worth_retrying(target, &stamp))
			continue;
		target->stamp = stamp;
		retry_target(probes, target);
	}
}

/* ---- scrapes ---- */

static size_t count_probes(const struct probes *probes)
{
	size_t n = 0;

	for (size_t i = 0; i < probes->spec->n_targets; i++)
		n += probes->targets[i].n_probes;
	return n;
}

static void fill_row(const struct probes *probes, const struct probe *probe,
		     struct collect_row *row)
{
	row->probe = probe->plan;
	row->status = probe->status;
	if (probe->series >= 0)
		attach_read(probes->attach, probe->series, &row->reading);
}

struct snapshot *probes_snapshot(struct probes *probes, const struct collect_build *build)
{
	size_t n = 0;

	sweep(probes);
	pthread_mutex_lock(&probes->lock);
	struct collect_row *rows = alloc_zero(count_probes(probes), sizeof(*rows));
	for (size_t i = 0; i < probes->spec->n_targets; i++)
		for (size_t j = 0; j < probes->targets[i].n_probes; j++)
			fill_row(probes, &probes->targets[i].probes[j], &rows[n++]);
	struct collect_input input = {
		.rows = rows,
		.n_rows = n,
		.build = *build,
		.last_reload_successful = true, /* of the config read at start */
		.last_reload_success_unix = probes->started_unix,
		.map_memory_bytes = attach_memory_bytes(probes->attach, NULL),
	};
	struct snapshot *snapshot = collect_snapshot(&input);
	pthread_mutex_unlock(&probes->lock);
	free(rows);
	return snapshot;
}
