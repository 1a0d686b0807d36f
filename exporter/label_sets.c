/* Sets come with processes and go after them; their series come and go with the probes too. */
#include "label_sets.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sort.h"
#include "kernel/select.h"
#include "table.h"

#define OTHER "other"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- sets ---- */

static struct label_group *group_in(const struct label_set *set, uint32_t group)
{
	for (size_t i = 0; i < set->groups.n; i++)
		if (set->groups.at[i].group == group)
			return &set->groups.at[i];
	return NULL;
}

static struct label_set *set_of_group(struct label_sets *sets, uint32_t group)
{
	for (size_t i = 0; i < sets->list.n; i++)
		if (group_in(&sets->list.at[i], group))
			return &sets->list.at[i];
	return NULL;
}

static bool says_the_same(const struct label_set *set, unsigned labels_from,
			  const struct group_labels *labels)
{
	size_t n = 0;

	for (unsigned i = 0; i < SPEC_PROCESS_LABELS; i++)
		if (labels_from & 1U << i && strcmp(set->labels[n++].value, labels->value[i]) != 0)
			return false;
	return true;
}

static struct label_set *set_of_labels(const struct target *target,
				       const struct group_labels *labels)
{
	const struct label_sets *sets = &target->label_sets;

	for (size_t i = 0; i < sets->list.n; i++)
		if (says_the_same(&sets->list.at[i], target->spec->labels_from, labels))
			return &sets->list.at[i];
	return NULL;
}

/* The set's labels in the order of their names. */
static void set_labels(struct label_set *set, unsigned labels_from,
		       const struct group_labels *labels)
{
	for (unsigned i = 0; i < SPEC_PROCESS_LABELS; i++)
		if (labels_from & 1U << i)
			set->labels[set->n_labels++] = (struct spec_label){
				spec_process_label_name((enum spec_process_label)i),
				alloc_strdup(labels->value[i])};
}

static void fini_set(struct label_set *set)
{
	for (size_t i = 0; i < set->n_labels; i++)
		free((char *)(uintptr_t)set->labels[i].value);
	vec_fini(&set->groups);
	vec_fini(&set->series);
}

void label_sets_fini(struct label_sets *sets)
{
	for (size_t i = 0; i < sets->list.n; i++)
		fini_set(&sets->list.at[i]);
	vec_fini(&sets->list);
	vec_fini(&sets->folded);
}

/* ---- their series ---- */

static const struct label_series *series_for(const struct label_set *set, int of)
{
	for (size_t i = 0; i < set->series.n; i++)
		if (set->series.at[i].of == of)
			return &set->series.at[i];
	return NULL;
}

static void put_group(struct probes *probes, uint32_t group, const struct label_series *series)
{
	if (attach_put_group(probes->attach, series->of, group, series->series))
		log_debug("calls of a container are counted under `other`",
			  LOG_STR("why", "no room in the map of label sets"));
}

static void add_series(struct probes *probes, struct label_set *set, const struct probe *probe)
{
	struct label_series series = {.of = probe->series,
				      .counts = probe->plan->function->exit == EXIT_NONE,
				      .created_unix = table_now_unix()};
	struct err err;

	if (series_for(set, probe->series))
		return;
	series.series =
		attach_add_group_series(probes->attach, probe->plan->function->buckets, &err);
	if (series.series < 0) {
		log_debug("calls are counted under `other`", LOG_STR("why", err.msg));
		return;
	}
	pthread_mutex_lock(&probes->lock);
	*vec_push(&set->series) = series;
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; i < set->groups.n; i++)
		put_group(probes, set->groups.at[i].group, &series);
}

/* Keep calls away from one of a set's series. */
static void cut_series(struct probes *probes, const struct label_set *set,
		       const struct label_series *series)
{
	for (size_t i = 0; i < set->groups.n; i++)
		attach_drop_group(probes->attach, series->of, set->groups.at[i].group);
}

/* Give back a set's series number `at`, which no call leads to any more. Under the locks. */
static void end_series(struct probes *probes, struct label_set *set, size_t at)
{
	struct label_series series = set->series.at[at];

	attach_end_group_series(probes->attach, series.of, series.series, series.counts);
	set->series.at[at] = set->series.at[--set->series.n];
}

void label_sets_renew(struct probes *probes, struct target *target)
{
	for (size_t i = 0; i < target->label_sets.list.n; i++)
		for (size_t j = 0; j < target->n_probes; j++)
			if (target->probes[j].series >= 0)
				add_series(probes, &target->label_sets.list.at[i],
					   &target->probes[j]);
}

static bool stands_for(const struct label_series *own, const int *series, size_t n)
{
	return n == LABEL_SETS_ALL ||
	       (n && bsearch(&own->of, series, n, sizeof(*series), sort_by_number));
}

void label_sets_cut(struct probes *probes, struct target *target, const int *series, size_t n)
{
	for (size_t i = 0; i < target->label_sets.list.n; i++) {
		const struct label_set *set = &target->label_sets.list.at[i];
		for (size_t j = 0; j < set->series.n; j++)
			if (stands_for(&set->series.at[j], series, n))
				cut_series(probes, set, &set->series.at[j]);
	}
}

void label_sets_forget(struct probes *probes, struct target *target, const int *series, size_t n)
{
	for (size_t i = 0; i < target->label_sets.list.n; i++) {
		struct label_set *set = &target->label_sets.list.at[i];
		for (size_t j = set->series.n; j-- > 0;)
			if (stands_for(&set->series.at[j], series, n))
				end_series(probes, set, j);
	}
}

/* ---- processes come ---- */

static struct label_group *folded_of(const struct label_sets *sets, uint32_t group)
{
	for (size_t i = 0; i < sets->folded.n; i++)
		if (sets->folded.at[i].group == group)
			return &sets->folded.at[i];
	return NULL;
}

static void fold(struct label_sets *sets, uint32_t group)
{
	struct label_group *folded = folded_of(sets, group);

	if (!folded)
		folded = vec_push(&sets->folded);
	*folded = (struct label_group){group, now_ns()};
}

static void unfold(struct label_sets *sets, uint32_t group)
{
	for (size_t i = sets->folded.n; i-- > 0;)
		if (sets->folded.at[i].group == group)
			sets->folded.at[i] = sets->folded.at[--sets->folded.n];
}

static struct label_set *add_set(struct probes *probes, struct target *target,
				 const struct group_labels *labels)
{
	struct label_set set = {.seen_ns = now_ns()};

	if (target->label_sets.list.n >= probes->spec->limits.label_sets)
		return NULL;
	set_labels(&set, target->spec->labels_from, labels);
	*vec_push(&target->label_sets.list) = set;
	return &target->label_sets.list.at[target->label_sets.list.n - 1];
}

/* Have the target know a group. */
static void take_group(struct probes *probes, struct target *target, uint32_t group)
{
	struct label_sets *sets = &target->label_sets;
	const struct group_labels *labels = groups_labels(probes->groups, group);

	if (!labels || set_of_group(sets, group))
		return;
	pthread_mutex_lock(&probes->lock);
	struct label_set *set = set_of_labels(target, labels);
	if (!set)
		set = add_set(probes, target, labels);
	if (set) {
		*vec_push(&set->groups) = (struct label_group){group, now_ns()};
		unfold(sets, group);
	} else {
		fold(sets, group);
	}
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; set && i < set->series.n; i++)
		put_group(probes, group, &set->series.at[i]);
	label_sets_renew(probes, target);
}

void label_sets_grouped(void *context, uint32_t filter, uint32_t group)
{
	struct probes *probes = context;
	struct err err;

	for (size_t i = 0; group && i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		if (target->spec->labels_from &&
		    filters_of(probes->filters, target->spec, &err) == (int)filter + 1)
			take_group(probes, target, group);
	}
}

uint32_t label_sets_selected(void *context, uint32_t filter, struct procview *view)
{
	struct probes *probes = context;
	uint32_t group = filters_group(probes->filters, view);

	label_sets_grouped(probes, filter, group);
	return group;
}

/* ---- and go ---- */

/*
 * To look at all selected processes takes as long as there are many, and what is found only begins
 * the time for which a set is kept: it is done in a small part of that.
 */
#define LOOKS_WHILE_KEPT 16
#define MOST_BETWEEN_NS	 10000000000U

static uint64_t between_looks_ns(const struct probes *probes)
{
	uint64_t ns = probes->spec->limits.labels_keep_ns / LOOKS_WHILE_KEPT;

	return ns < MOST_BETWEEN_NS ? ns : MOST_BETWEEN_NS;
}

/* The sets of a target, and whom they are of. */
struct watched {
	struct label_sets *sets;
	uint32_t filter;
};

/* One look at who is there. */
struct look {
	VEC(struct watched) watched;
	uint64_t now_ns;
};

static void begin_look(struct probes *probes, struct look *look)
{
	struct err err;

	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		int filter = target->spec->labels_from
				     ? filters_of(probes->filters, target->spec, &err)
				     : 0;
		if (filter > 0)
			*vec_push(&look->watched) =
				(struct watched){&target->label_sets, (uint32_t)filter - 1};
	}
}

static void see_group(struct label_sets *sets, uint32_t group, uint64_t now)
{
	struct label_set *set = set_of_group(sets, group);
	struct label_group *folded = folded_of(sets, group);

	if (set)
		group_in(set, group)->seen_ns = set->seen_ns = now;
	if (folded)
		folded->seen_ns = now;
}

/*
 * A process of some filter keeps the sets of the targets with that filter; and its group where it
 * got none, since another with that number would get the process' calls.
 */
static void see(void *context, pid_t pid, const struct up_selected *entry)
{
	const struct look *look = context;

	(void)pid;
	for (size_t i = 0; entry->group && i < look->watched.n; i++) {
		uint32_t filter = look->watched.at[i].filter;
		if (entry->itself[filter] || entry->inherited[filter])
			see_group(look->watched.at[i].sets, entry->group, look->now_ns);
	}
}

static bool has_open_calls(const struct probes *probes, const struct label_set *set)
{
	struct reading reading;

	for (size_t i = 0; i < set->series.n; i++) {
		if (set->series.at[i].counts)
			continue;
		attach_read(probes->attach, set->series.at[i].series, &reading);
		if (reading_in_flight(&reading))
			return true;
	}
	return false;
}

static void end_set(struct probes *probes, struct target *target, size_t at)
{
	struct label_sets *sets = &target->label_sets;
	struct label_set *set = &sets->list.at[at];

	for (size_t i = 0; i < set->series.n; i++)
		cut_series(probes, set, &set->series.at[i]);
	attach_wait(probes->attach);
	pthread_mutex_lock(&probes->sweep_lock);
	pthread_mutex_lock(&probes->lock);
	while (set->series.n)
		end_series(probes, set, set->series.n - 1);
	fini_set(set);
	sets->list.at[at] = sets->list.at[--sets->list.n];
	pthread_mutex_unlock(&probes->lock);
	pthread_mutex_unlock(&probes->sweep_lock);
	select_forget_told(attach_select(probes->attach));
}

/* Its last process may have ended just before the look after that in which it was seen. */
static bool is_old(const struct probes *probes, uint64_t seen_ns, uint64_t now)
{
	return now - seen_ns > probes->spec->limits.labels_keep_ns + between_looks_ns(probes);
}

static bool has_old_group(const struct probes *probes, const struct label_set *set, uint64_t now)
{
	for (size_t i = 0; i < set->groups.n; i++)
		if (is_old(probes, set->groups.at[i].seen_ns, now))
			return true;
	return false;
}

/* Groups of a set whose last process ended long ago while the set goes on. */
static void end_old_groups(struct probes *probes, struct label_set *set, uint64_t now)
{
	for (size_t i = set->groups.n; i-- > 0;) {
		if (!is_old(probes, set->groups.at[i].seen_ns, now))
			continue;
		for (size_t j = 0; j < set->series.n; j++)
			attach_drop_group(probes->attach, set->series.at[j].of,
					  set->groups.at[i].group);
		set->groups.at[i] = set->groups.at[--set->groups.n];
	}
	select_forget_told(attach_select(probes->attach));
}

static void end_old_sets(struct probes *probes, struct target *target, uint64_t now)
{
	struct label_sets *sets = &target->label_sets;

	for (size_t i = sets->list.n; i-- > 0;) {
		struct label_set *set = &sets->list.at[i];
		/* Open calls may be of any group; to look for them is to read all series. */
		if (!has_old_group(probes, set, now) || has_open_calls(probes, set))
			continue;
		if (is_old(probes, set->seen_ns, now))
			end_set(probes, target, i);
		else
			end_old_groups(probes, set, now);
	}
}

static bool is_in_use(void *context, uint32_t group)
{
	struct probes *probes = context;

	for (size_t i = 0; i < probes->n_targets; i++)
		if (set_of_group(&probes->targets[i].label_sets, group) ||
		    folded_of(&probes->targets[i].label_sets, group))
			return true;
	return false;
}

static void drop_ended_folded(struct probes *probes, struct label_sets *sets, uint64_t now)
{
	pthread_mutex_lock(&probes->lock);
	for (size_t i = sets->folded.n; i-- > 0;)
		if (is_old(probes, sets->folded.at[i].seen_ns, now))
			sets->folded.at[i] = sets->folded.at[--sets->folded.n];
	pthread_mutex_unlock(&probes->lock);
}

void label_sets_tick(struct probes *probes)
{
	struct look look = {.now_ns = now_ns()};

	if (!groups_are_wanted(probes->groups) ||
	    look.now_ns - probes->labels_looked_ns < between_looks_ns(probes))
		return;
	probes->labels_looked_ns = look.now_ns;
	begin_look(probes, &look);
	select_each(attach_select(probes->attach), see, &look);
	vec_fini(&look.watched);
	for (size_t i = 0; i < probes->n_targets; i++)
		end_old_sets(probes, &probes->targets[i], look.now_ns);
	for (size_t i = 0; i < probes->n_targets; i++)
		drop_ended_folded(probes, &probes->targets[i].label_sets, look.now_ns);
	groups_drop_unused(probes->groups, is_in_use, probes);
}

/* ---- scrapes ---- */

static void fill_other(const struct target *target, struct arena *arena, struct collect_set *set)
{
	struct spec_label *labels = arena_array(arena, SPEC_PROCESS_LABELS, sizeof(*labels));

	for (unsigned i = 0; i < SPEC_PROCESS_LABELS; i++)
		if (target->spec->labels_from & 1U << i)
			labels[set->n_labels++] = (struct spec_label){
				spec_process_label_name((enum spec_process_label)i), OTHER};
	set->labels = labels;
}

/* Not all sets have one for each of the target's probes, and a reading is large. */
static size_t count_series(const struct label_sets *sets, int of)
{
	size_t n = 0;

	for (size_t i = 0; i < sets->list.n; i++)
		n += series_for(&sets->list.at[i], of) != NULL;
	return n;
}

void label_sets_fill(const struct probes *probes, const struct target *target, int series,
		     struct arena *arena, struct collect_row *row)
{
	const struct label_sets *sets = &target->label_sets;
	struct collect_set *filled;

	if (!target->spec->labels_from)
		return;
	row->sets = filled = arena_array(arena, 1 + count_series(sets, series), sizeof(*filled));
	fill_other(target, arena, &filled[row->n_sets]);
	filled[row->n_sets].created_unix = row->status.created_unix;
	filled[row->n_sets++].reading = row->reading;
	for (size_t i = 0; i < sets->list.n; i++) {
		const struct label_set *set = &sets->list.at[i];
		const struct label_series *own = series_for(set, series);
		if (series < 0 || !own)
			continue;
		struct collect_set *next = &filled[row->n_sets++];
		next->labels = set->labels;
		next->n_labels = set->n_labels;
		next->created_unix = own->created_unix;
		attach_read(probes->attach, own->series, &next->reading);
		reading_add(&row->reading, &next->reading);
	}
}
