/*
 * The table of configured probes: its life, its passes, and what scrapes see of it. A target's
 * probes are those of its plan: a pattern may find others when its file is resolved again, but what
 * was attached stays as long as it is configured.
 */
#include "probes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "table.h"
#include "target/resolve.h"

/* ---- life ---- */

/* The plan has the probes of each target one after another. */
static void init_probes(struct probes *probes, const struct plan *plan)
{
	const struct plan_probe *next = plan->probes, *end = next + plan->n_probes;

	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		const struct plan_probe *first = next;
		while (next < end && next->target == target->spec)
			next++;
		target->n_probes = (size_t)(next - first);
		target->probes = alloc_zero(target->n_probes, sizeof(*target->probes));
		for (size_t j = 0; j < target->n_probes; j++)
			target->probes[j] = probe_of(&first[j], probes->started_unix);
		table_note_file(target, table_file_of(first, target->n_probes));
	}
}

struct probes *probes_new(const struct spec *spec, struct attach *attach, struct loop *loop)
{
	struct probes *probes = alloc_zero(1, sizeof(*probes));

	probes->spec = spec;
	probes->attach = attach;
	probes->groups = groups_new(attach);
	probes->filters = filters_new(attach, probes->groups,
				      &(struct filters_callbacks){.context = probes,
								  .selected = label_sets_selected,
								  .grouped = label_sets_grouped,
								  .elsewhere = elsewhere_selected,
								  .passing = elsewhere_passing});
	probes->loop = loop;
	probes->started_unix = table_now_unix();
	probes->reload_successful = true; /* of the config read at start */
	probes->reload_success_unix = probes->started_unix;
	pthread_mutex_init(&probes->lock, NULL);
	pthread_mutex_init(&probes->sweep_lock, NULL);
	probes->n_targets = spec->n_targets;
	probes->targets = alloc_zero(spec->n_targets, sizeof(*probes->targets));
	for (size_t i = 0; i < spec->n_targets; i++)
		table_init_target(&probes->targets[i], &spec->targets[i]);
	struct plan *plan = resolve_plan(spec, NULL);
	*vec_push(&probes->plans) = plan;
	init_probes(probes, plan);
	return probes;
}

void probes_free(struct probes *probes)
{
	if (!probes)
		return;
	for (size_t i = 0; i < probes->n_targets; i++)
		table_fini_target(&probes->targets[i]);
	filters_free(probes->filters);
	residents_fini(&probes->residents);
	vec_fini(&probes->places);
	groups_free(probes->groups);
	for (size_t i = 0; i < probes->plans.n; i++)
		plan_free(probes->plans.at[i]);
	vec_fini(&probes->plans);
	for (size_t i = 0; i < probes->specs.n; i++)
		spec_free(probes->specs.at[i]);
	vec_fini(&probes->specs);

	pthread_mutex_destroy(&probes->lock);
	pthread_mutex_destroy(&probes->sweep_lock);
	free(probes->targets);
	free(probes);
}

bool probes_ready(struct probes *probes)
{
	return atomic_load(&probes->ready);
}

/* ---- passes ---- */

static void attach_first(struct probes *probes, const struct plan *plan)
{
	_cleanup_free_ struct probe **owners = alloc_zero(plan->n_probes, sizeof(*owners));
	size_t n = 0;

	for (size_t i = 0; i < probes->n_targets; i++)
		for (size_t j = 0; j < probes->targets[i].n_probes; j++)
			owners[n++] = &probes->targets[i].probes[j];
	table_attach(probes, plan, owners);
}

static void on_started(void *context, int fd)
{
	struct probes *probes = context;

	(void)fd;
	filters_heard(probes->filters);
}

void probes_attach(struct probes *probes)
{
	for (size_t i = 0; i < probes->n_targets; i++)
		follow_process(probes, &probes->targets[i]);
	probes->settling = true;
	filters_set(probes->filters, probes->spec);
	attach_first(probes, probes->plans.at[0]);
	probes->settling = false;
	filters_look(probes->filters);
	held_back_look(probes);
	loop_watch(probes->loop, filters_fd(probes->filters), on_started, probes);
	atomic_store(&probes->ready, !*loop_stop_flag());
}

/* Reasons that may pass although the file stays the same. */
static bool passes_by_itself(const struct target *target, enum reason reason)
{
	switch (reason) {
	case REASON_PROCESS_NOT_FOUND:
		return !target->ended && target->pidfd >= 0;
	case REASON_LIMIT:
		return target->room;
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

static void sweep(struct probes *probes)
{
	pthread_mutex_lock(&probes->sweep_lock);
	attach_sweep(probes->attach);
	pthread_mutex_unlock(&probes->sweep_lock);
}

static void retry(struct probes *probes, struct target *target, const struct file_stamp *stamp)
{
	target->room = false;
	bool another = target->stamp.ino && stamp->ino && target->stamp.ino != stamp->ino;

	table_retry_target(probes, target, stamp);
	if (another)
		follow_gap(probes, target);
}

static bool is_elsewhere(const struct target *target, const struct probe *probe)
{
	for (size_t i = 0; i < target->superseded.n; i++)
		if (target->superseded.at[i].elsewhere) {
			const struct superseded_probe *there =
				superseded_find(&target->superseded.at[i], probe->plan);
			if (there && there->series == probe->series)
				return true;
		}
	return false;
}

/* The file that its target names, or one in a container, has it. */
static bool has_links(const struct target *target, const struct probe *probe)
{
	return probe->status.attached || is_elsewhere(target, probe);
}

static bool is_attached(const struct target *target, const struct probe *probe)
{
	return has_links(target, probe) && !probe->held_back;
}

void probes_count(const struct probes *probes, size_t *attached, size_t *all)
{
	*attached = *all = 0;
	for (size_t i = 0; i < probes->n_targets; i++) {
		const struct target *target = &probes->targets[i];
		*all += target->n_probes;
		for (size_t j = 0; j < target->n_probes; j++)
			*attached += is_attached(target, &target->probes[j]);
	}
}

void probes_retry(struct probes *probes)
{
	sweep(probes);
	filters_tick(probes->filters);
	label_sets_tick(probes);
	residents_forget(&probes->residents);
	struct file_stamp stamp;
	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		if (!i || strcmp(target->spec->binary, target[-1].spec->binary) != 0)
			stamp = file_stamp_of(target->spec->binary);
		bool now = follow_file(probes, target, &stamp);
		follow_superseded(probes, target);
		follow_process(probes, target);
		if (now && worth_retrying(target, &stamp))
			retry(probes, target, &stamp);
	}
	held_back_look(probes);
}

/* ---- scrapes ---- */

/* The old files that a probe is on as well. */
static size_t fill_places(const struct target *target, const struct probe *probe,
			  struct collect_place *places)
{
	size_t n = 0;

	for (size_t i = 0; i < target->superseded.n; i++) {
		const struct superseded_probe *old =
			superseded_find(&target->superseded.at[i], probe->plan);
		if (old && old->series == probe->series)
			places[n++] = old->place;
	}
	return n;
}

static struct collect_row row_of(const struct probes *probes, const struct target *target,
				 const struct probe *probe, struct arena *arena)
{
	struct collect_place *places = arena_array(arena, target->superseded.n, sizeof(*places));
	struct collect_row row = {
		.probe = probe->plan,
		.status = probe->status,
		.old_places = places,
		.n_old_places = fill_places(target, probe, places),
	};

	row.attached = is_attached(target, probe);
	if (probe->held_back && has_links(target, probe))
		row.status.reason = probe->held_back;
	if (probe->series >= 0)
		attach_read(probes->attach, probe->series, &row.reading);
	label_sets_fill(probes, target, probe->series, arena, &row);
	return row;
}

static void fill_input(const struct probes *probes, struct arena *arena,
		       struct collect_input *input)
{
	struct collect_target *targets = arena_array(arena, probes->n_targets, sizeof(*targets));
	struct collect_row *rows;

	for (size_t i = 0; i < probes->n_targets; i++) {
		const struct target *target = &probes->targets[i];
		input->n_rows += target->n_probes;
		targets[i] = (struct collect_target){
			.name = target->spec->name,
			.upgrades = target->upgrades,
			.created_unix = target->created_unix,
			.gap_seconds = target->gap_seconds,
			.is_labelled = target->spec->labels_from != 0,
			.n_label_sets = target->label_sets.list.n,
			.n_folded = label_sets_folded(target),
		};
	}
	input->rows = rows = arena_array(arena, input->n_rows, sizeof(*rows));
	for (size_t i = 0; i < probes->n_targets; i++)
		for (size_t j = 0; j < probes->targets[i].n_probes; j++)
			*rows++ = row_of(probes, &probes->targets[i], &probes->targets[i].probes[j],
					 arena);
	input->targets = targets;
	input->n_targets = probes->n_targets;
}

struct snapshot *probes_snapshot(struct probes *probes, const struct collect_build *build)
{
	struct arena arena;

	arena_init(&arena);
	sweep(probes);
	pthread_mutex_lock(&probes->lock);
	struct collect_input input = {
		.build = *build,
		.last_reload_successful = probes->reload_successful,
		.last_reload_success_unix = probes->reload_success_unix,
		.started_unix = probes->started_unix,
		.map_memory_bytes = attach_memory_bytes(probes->attach, NULL),
	};
	attach_unheard(probes->attach, input.unheard);
	fill_input(probes, &arena, &input);
	struct snapshot *snapshot = collect_snapshot(&input);
	pthread_mutex_unlock(&probes->lock);
	arena_fini(&arena);
	return snapshot;
}
