/* The table of configured probes. */
#include "probes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "target/resolve.h"

struct probe {
	const struct plan_probe *plan; /* never NULL; of one of the plans that are kept */
	struct probe_status status;
	int series; /* -1 while there is none */
	bool logged; /* its present outcome was */
};

/* What a file looked like when it was last resolved: a change is worth another try. */
struct file_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

struct target {
	const struct spec_target *spec;
	struct probe *probes; /* n_functions of them */
	struct file_stamp stamp;
	int pidfd;  /* of a filtered target's process while attached; -1 */
	bool ended; /* that process has ended: a pid names one process, not its successor */
};

struct probes {
	const struct spec *spec;
	struct attach *attach;
	struct loop *loop;
	VEC(struct plan *) plans; /* that some probe points into; the first one is of all targets */
	struct target *targets;
	struct probe *all;
	size_t n;
	double started_unix;
	atomic_bool ready;
	pthread_mutex_t lock; /* over plans, statuses and series, against snapshots */
};

static double now_unix(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct file_stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct file_stamp){0};
	return (struct file_stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim};
}

static bool same_stamp(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* ---- life --------------------------------------------------------------------------------------- */

static void init_probes(struct probes *probes, const struct plan *plan)
{
	for (size_t i = 0; i < probes->n; i++) {
		struct probe *probe = &probes->all[i];
		probe->plan = &plan->probes[i];
		probe->series = -1;
		probe->status.reason = probe->plan->reason;
		probe->status.created_unix = probes->started_unix;
	}
}

static void init_targets(struct probes *probes)
{
	struct probe *next = probes->all;

	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		target->spec = &probes->spec->targets[i];
		target->probes = next;
		target->pidfd = -1;
		target->stamp = stamp_of(target->spec->binary);
		next += target->spec->n_functions;
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
	probes->targets = alloc_zero(spec->n_targets, sizeof(*probes->targets));
	for (size_t i = 0; i < spec->n_targets; i++)
		probes->n += spec->targets[i].n_functions;
	probes->all = alloc_zero(probes->n, sizeof(*probes->all));
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
	for (size_t i = 0; i < probes->spec->n_targets; i++)
		if (probes->targets[i].pidfd >= 0)
			close(probes->targets[i].pidfd);
	for (size_t i = 0; i < probes->plans.n; i++)
		plan_free(probes->plans.at[i]);
	vec_fini(&probes->plans);
	pthread_mutex_destroy(&probes->lock);
	free(probes->targets);
	free(probes->all);
	free(probes);
}

bool probes_ready(struct probes *probes)
{
	return atomic_load(&probes->ready);
}

/* ---- outcomes ------------------------------------------------------------------------------------ */

static void log_attached(const struct probe *probe)
{
	const struct plan_probe *plan = probe->plan;

	log_at(plan->warning ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "probe attached",
	       LOG_STR("target", plan->target->name), LOG_STR("function", plan->label),
	       LOG_STR("binary", plan->file->path), LOG_STR("symbol", plan->symbol),
	       LOG_HEX("offset", plan->entry_offset),
	       LOG_STR("exit", exit_strategy_name(plan->strategy)),
	       LOG_STR("kind", probe->status.kind), LOG_STR("warning", plan->warning));
}

static void log_refused(const struct probe *probe, const char *detail)
{
	const struct plan_probe *plan = probe->plan;

	log_warn("probe not attached", LOG_STR("target", plan->target->name),
		 LOG_STR("function", plan->label),
		 LOG_STR("binary", plan->target->binary),
		 LOG_STR("reason", reason_name(probe->status.reason)), LOG_STR("detail", detail));
}

/* How a probe is attached: one without a return probe has no session, just an entry link. */
static const char *kind_of(const struct probes *probes, const struct plan_probe *plan)
{
	enum tier tier = attach_tier(probes->attach);

	if (tier == TIER_SESSION && plan->strategy == STRATEGY_NONE)
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

/* Attach `plan`, whose probes stand for those from `first` on. */
static void attach_and_note(struct probes *probes, const struct plan *plan, struct probe *first)
{
	struct attach_result *results = alloc_zero(plan->n_probes, sizeof(*results));

	for (size_t i = 0; i < plan->n_probes; i++) {
		results[i].attached = first[i].status.attached;
		results[i].series = first[i].series;
	}
	attach_plan(probes->attach, plan, results);
	for (size_t i = 0; i < plan->n_probes; i++)
		note(probes, &first[i],
		     first[i].status.attached ? first[i].plan : &plan->probes[i], &results[i]);
	free(results);
}

/* ---- filtered processes ---------------------------------------------------------------------------- */

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
		for (size_t j = 0; j < target->spec->n_functions; j++) {
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

/* ---- passes ---------------------------------------------------------------------------------------- */

void probes_attach(struct probes *probes)
{
	for (size_t i = 0; i < probes->spec->n_targets; i++)
		watch_process(probes, &probes->targets[i]);
	attach_and_note(probes, probes->plans.at[0], probes->all);
	atomic_store(&probes->ready, true);
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
	bool missing = false, file_changed = !same_stamp(stamp, &target->stamp);

	if (target->ended)
		return false;
	for (size_t i = 0; i < target->spec->n_functions; i++) {
		const struct probe_status *status = &target->probes[i].status;
		missing |= !status->attached &&
			   (file_changed || passes_by_itself(target, status->reason));
	}
	return missing;
}

static bool in_use(const struct probes *probes, const struct plan *plan)
{
	for (size_t i = 0; i < probes->n; i++)
		if (probes->all[i].plan >= plan->probes &&
		    probes->all[i].plan < plan->probes + plan->n_probes)
			return true;
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

	*vec_push(&probes->plans) = plan;
	attach_and_note(probes, plan, target->probes);
	drop_unused_plans(probes);
}

void probes_retry(struct probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	attach_sweep(probes->attach);
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; i < probes->spec->n_targets; i++) {
		struct target *target = &probes->targets[i];
		struct file_stamp stamp = stamp_of(target->spec->binary);
		watch_process(probes, target);
		if (!worth_retrying(target, &stamp))
			continue;
		target->stamp = stamp;
		retry_target(probes, target);
	}
}

/* ---- scrapes --------------------------------------------------------------------------------------- */

static void fill_row(const struct probes *probes, const struct probe *probe, struct collect_row *row)
{
	row->probe = probe->plan;
	row->status = probe->status;
	if (probe->series >= 0)
		attach_read(probes->attach, probe->series, &row->reading);
}

struct snapshot *probes_snapshot(struct probes *probes, const struct collect_build *build)
{
	struct collect_row *rows = alloc_zero(probes->n, sizeof(*rows));

	pthread_mutex_lock(&probes->lock);
	attach_sweep(probes->attach);
	for (size_t i = 0; i < probes->n; i++)
		fill_row(probes, &probes->all[i], &rows[i]);
	struct collect_input input = {
		.rows = rows,
		.n_rows = probes->n,
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
