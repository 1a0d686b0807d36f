/*
 * Another config. All of it is resolved, then brought together with what there is: what is
 * configured as before goes on, in the same series and under the same links; the rest is let go of
 * and attached as at start.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "adopt.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/sort.h"
#include "probes.h"
#include "table.h"
#include "target/resolve.h"

/* What is there now, on its way out. */
struct before {
	struct target *targets;
	size_t n_targets;
	bool *kept; /* by target: another goes on with it */
};

/* A probe that goes on in another place: it is taken out of the one where it is. */
struct moved {
	dev_t dev;
	ino_t ino;
	int series;
};

struct reload {
	struct probes *probes;
	struct plan *plan;
	struct before before;
	struct target *targets; /* plan->spec->n_targets */
	struct target **same;	/* of each, the one of before that it goes on with; NULL: none */
	struct probe **owners;	/* plan->n_probes */
	VEC(int) series;	/* that no probe has any more */
	VEC(struct moved) moved;
};

/* ---- one target ---- */

static struct target *find_before(struct reload *reload, const struct spec_target *spec)
{
	for (size_t i = 0; i < reload->before.n_targets; i++) {
		if (reload->before.kept[i] ||
		    !spec_same_target(reload->before.targets[i].spec, spec))
			continue;
		reload->before.kept[i] = true;
		return &reload->before.targets[i];
	}
	return NULL;
}

/* A file that was replaced just now is an upgrade, which does not wait for the next look. */
static void supersede_replaced(struct reload *reload, struct target *target,
			       const struct plan_probe *next, size_t n)
{
	const struct plan_file *now = table_attached_file(target), *then = table_file_of(next, n);

	target->replaced = then && target->stamp.ino &&
			   (target->stamp.dev != then->dev || target->stamp.ino != then->ino);
	if (now && !(then && now->dev == then->dev && now->ino == then->ino))
		follow_supersede(reload->probes, target,
				 then ? REASON_BINARY_CHANGED : REASON_BINARY_NOT_FOUND);
	if (then)
		follow_take_back(reload->probes, target, then->dev, then->ino);
}

static bool same_sites(const struct plan_probe *now, const struct plan_probe *next)
{
	bool same = now->n_sites == next->n_sites;

	for (size_t i = 0; same && i < next->n_sites; i++) {
		const struct plan_site *a = &now->sites[i], *b = &next->sites[i];
		same = a->offset == b->offset && a->sp_adjust == b->sp_adjust &&
		       a->condition == b->condition;
	}
	return same;
}

static bool same_marks(const struct plan_probe *now, const struct plan_probe *next)
{
	bool same = now->n_marks == next->n_marks;

	for (size_t i = 0; same && i < next->n_marks; i++) {
		const struct plan_mark *a = &now->marks[i], *b = &next->marks[i];
		same = a->offset == b->offset && a->semaphore == b->semaphore &&
		       a->ends == b->ends && !memcmp(&a->key, &b->key, sizeof(a->key));
	}
	return same;
}

/* The same places and way: its links stay as they are. */
static bool stays_linked(const struct plan_probe *now, const struct plan_probe *next)
{
	return next->reason == REASON_NONE && now->strategy == next->strategy &&
	       now->per_process == next->per_process && now->entry_offset == next->entry_offset &&
	       now->entry_sp_adjust == next->entry_sp_adjust &&
	       now->entry_condition == next->entry_condition && same_sites(now, next) &&
	       same_marks(now, next);
}

/* Probes that go on as they are are of the new plan from now on; others are attached anew. */
static void settle_probe(struct reload *reload, struct probe *probe, const struct plan_probe *next)
{
	if (probe->status.attached && !stays_linked(probe->plan, next)) {
		const struct plan_file *file = probe->plan->file;
		*vec_push(&reload->moved) = (struct moved){file->dev, file->ino, probe->series};
		probe->status.attached = false;
		probe->status.kind = NULL;
		probe->status.reason = REASON_NONE;
	}
	probe->plan = next;
}

static void bring_together(struct reload *reload, struct target *target,
			   const struct plan_probe *next, size_t n)
{
	double now = table_now_unix();
	struct adopted adopted = adopt_plan(target->probes, target->n_probes, next, n, true, now);
	size_t first = (size_t)(next - reload->plan->probes);

	for (size_t i = 0; i < n; i++) {
		reload->owners[first + i] = adopted.owners[i];
		if (adopted.owners[i])
			settle_probe(reload, adopted.owners[i], &next[i]);
	}
	free(adopted.owners);
	target->probes = adopted.probes;
	target->n_probes = adopted.n;
}

static bool same_functions(const struct spec_target *a, const struct spec_target *b)
{
	bool same = a->n_functions == b->n_functions;

	for (size_t i = 0; same && i < a->n_functions; i++)
		same = spec_same_function(&a->functions[i], &b->functions[i]);
	return same;
}

static void reload_target(struct reload *reload, size_t at, const struct plan_probe *next, size_t n)
{
	const struct spec_target *spec = &reload->plan->spec->targets[at];
	struct target *target = &reload->targets[at];

	if (reload->same[at]) {
		*target = *reload->same[at];
		target->changed = !same_functions(target->spec, spec);
		target->spec = spec;
	} else {
		table_init_target(target, spec);
	}
	if (!table_attached_file(target)) /* else it goes on with the same one */
		table_note_file(target, table_file_of(next, n));
	bring_together(reload, target, next, n);
}

/* ---- the whole ---- */

/* Call `visit` for each target with its probes, which the plan has one after another. */
static void each_target(struct reload *reload,
			void (*visit)(struct reload *, size_t, const struct plan_probe *, size_t))
{
	const struct spec *spec = reload->plan->spec;
	const struct plan_probe *next = reload->plan->probes, *end = next + reload->plan->n_probes;

	for (size_t i = 0; i < spec->n_targets; i++) {
		const struct plan_probe *first = next;
		while (next < end && next->target == &spec->targets[i])
			next++;
		visit(reload, i, first, (size_t)(next - first));
	}
}

static void match_target(struct reload *reload, size_t at, const struct plan_probe *next, size_t n)
{
	reload->same[at] = find_before(reload, &reload->plan->spec->targets[at]);
	if (reload->same[at])
		supersede_replaced(reload, reload->same[at], next, n);
}

/* The series of all probes, sorted; the caller frees. */
static int *series_of(const struct target *targets, size_t n_targets, size_t *n)
{
	size_t room = 0;

	*n = 0;
	for (size_t i = 0; i < n_targets; i++)
		room += targets[i].n_probes;
	int *series = alloc_zero(room, sizeof(*series));
	for (size_t i = 0; i < n_targets; i++)
		for (size_t j = 0; j < targets[i].n_probes; j++)
			if (targets[i].probes[j].series >= 0)
				series[(*n)++] = targets[i].probes[j].series;
	if (*n)
		qsort(series, *n, sizeof(*series), sort_by_number);
	return series;
}

static void find_unused_series(struct reload *reload)
{
	size_t n_before, n_now;
	_cleanup_free_ int *before =
		series_of(reload->before.targets, reload->before.n_targets, &n_before);
	_cleanup_free_ int *now = series_of(reload->targets, reload->plan->spec->n_targets, &n_now);

	for (size_t i = 0; i < n_before; i++) {
		bool repeats = i && before[i] == before[i - 1]; /* probes that share it */
		if (!repeats && !bsearch(&before[i], now, n_now, sizeof(*now), sort_by_number))
			*vec_push(&reload->series) = before[i];
	}
}

/* The other files of targets that go on do not feed them any more. */
static void forget_unused_series(struct reload *reload)
{
	for (size_t i = 0; i < reload->plan->spec->n_targets; i++)
		for (size_t j = 0; j < reload->targets[i].superseded.n; j++)
			superseded_forget(&reload->targets[i].superseded.at[j], reload->series.at,
					  reload->series.n);
}

/* Series that stand in for those, by labels, go first. */
static void each_label_set(struct reload *reload,
			   void (*visit)(struct probes *, struct target *, const int *, size_t))
{
	for (size_t i = 0; i < reload->before.n_targets; i++)
		if (!reload->before.kept[i])
			visit(reload->probes, &reload->before.targets[i], NULL, LABEL_SETS_ALL);
	for (size_t i = 0; i < reload->plan->spec->n_targets; i++)
		visit(reload->probes, &reload->targets[i], reload->series.at, reload->series.n);
}

/* Without the locks, since to close links may take long; nothing shows these series any more. */
static void close_links(struct reload *reload)
{
	struct attach *attach = reload->probes->attach;

	for (size_t i = 0; i < reload->moved.n; i++) {
		const struct moved *moved = &reload->moved.at[i];
		attach_drop_series(attach, moved->dev, moved->ino, &moved->series, 1);
	}
	attach_unlink_series(attach, reload->series.at, reload->series.n);
	each_label_set(reload, label_sets_cut);
	if (groups_are_wanted(reload->probes->groups))
		attach_wait(attach);
	pthread_mutex_lock(&reload->probes->sweep_lock);
	pthread_mutex_lock(&reload->probes->lock);
	each_label_set(reload, label_sets_forget);
	pthread_mutex_unlock(&reload->probes->lock);
	attach_free_series(attach, reload->series.at, reload->series.n);
	pthread_mutex_unlock(&reload->probes->sweep_lock);
}

/* Upgrades that the reload was the first to notice. */
static void note_upgrades(struct probes *probes)
{
	for (size_t i = 0; i < probes->n_targets; i++) {
		if (probes->targets[i].replaced)
			follow_gap(probes, &probes->targets[i]);
		probes->targets[i].replaced = false;
	}
}

static void take_over(struct reload *reload)
{
	struct probes *probes = reload->probes;

	probes->targets = reload->targets;
	probes->n_targets = reload->plan->spec->n_targets;
	*vec_push(&probes->plans) = reload->plan;
	probes->reload_success_unix = table_now_unix();
	probes->reload_successful = true;
}

/* The targets of before, whose probes were taken over or are gone. */
static void release_before(struct reload *reload)
{
	for (size_t i = 0; i < reload->before.n_targets; i++) {
		struct target *target = &reload->before.targets[i];
		if (reload->before.kept[i]) { /* the rest of it lives on */
			free(target->probes);
			continue;
		}
		if (target->pidfd >= 0)
			loop_unwatch(reload->probes->loop, target->pidfd);
		table_fini_target(target);
	}
	free(reload->before.targets);
	free(reload->before.kept);
}

static void tell_limits(const struct spec_limits *now, const struct spec_limits *next)
{
	if (now->series != next->series || now->in_flight != next->in_flight ||
	    now->shards != next->shards)
		log_warn("changed limits take effect when the exporter is started again",
			 LOG_STR("limits", "series, in_flight, shards"));
}

/* For a moment there were two of everything; what is free between the rest stays free otherwise. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void probes_reload(struct probes *probes, struct spec *spec)
{
	struct reload reload = {
		.probes = probes,
		.before = {.targets = probes->targets, .n_targets = probes->n_targets},
		.targets = alloc_zero(spec->n_targets, sizeof(*reload.targets)),
	};

	tell_limits(&probes->spec->limits, &spec->limits);
	*vec_push(&probes->specs) = spec;
	probes->spec = spec;
	reload.plan = resolve_plan(spec, NULL);
	reload.owners = alloc_zero(reload.plan->n_probes, sizeof(struct probe *));
	reload.before.kept = alloc_zero(probes->n_targets, sizeof(bool));
	reload.same = alloc_zero(spec->n_targets, sizeof(struct target *));
	each_target(&reload, match_target);
	pthread_mutex_lock(&probes->lock);
	each_target(&reload, reload_target);
	find_unused_series(&reload);
	forget_unused_series(&reload);
	take_over(&reload);
	pthread_mutex_unlock(&probes->lock);
	close_links(&reload);
	release_before(&reload);
	probes->settling = true;
	filters_set(probes->filters, spec); /* numbers of filters that ended are free by now */
	table_attach(probes, reload.plan, reload.owners);
	note_upgrades(probes);
	probes->settling = false;
	elsewhere_renew(probes);
	filters_look(probes->filters);
	held_back_look(probes);
	table_drop_unused(probes);
	vec_fini(&reload.series);
	vec_fini(&reload.moved);
	free(reload.owners);
	free(reload.same);
	give_memory_back();
}

void probes_reload_failed(struct probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	probes->reload_successful = false;
	pthread_mutex_unlock(&probes->lock);
}
