/* Sets come with processes and go some time after them. Their series: label_series.c. */
#include "label_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "kernel/select.h"
#include "label_series.h"
#include "table.h"

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
	*folded = (struct label_group){.group = group, .seen_ns = clock_now_ns()};
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
	struct label_set set = {.seen_ns = clock_now_ns()};

	if (target->label_sets.list.n >= probes->spec->limits.label_sets) {
		label_series_no_room(target, "limits.label_sets is reached");
		return NULL;
	}
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
		*vec_push(&set->groups) =
			(struct label_group){.group = group, .seen_ns = clock_now_ns()};
		unfold(sets, group);
	} else {
		fold(sets, group);
	}
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; set && i < set->series.n; i++)
		label_series_put(probes, target, group_in(set, group), &set->series.at[i]);
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
		label_series_cut(probes, set, &set->series.at[i]);
	attach_wait(probes->attach);
	pthread_mutex_lock(&probes->sweep_lock);
	pthread_mutex_lock(&probes->lock);
	while (set->series.n)
		label_series_end(probes, set, set->series.n - 1);
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

/* ---- room that has become free ---- */

static void take_folded(struct probes *probes, struct target *target)
{
	struct label_sets *sets = &target->label_sets;

	for (size_t i = sets->folded.n; i-- > 0;) {
		uint32_t group = sets->folded.at[i].group;
		const struct group_labels *labels = groups_labels(probes->groups, group);
		if (labels && (sets->list.n < probes->spec->limits.label_sets ||
			       set_of_labels(target, labels)))
			take_group(probes, target, group);
	}
}

static void put_lacking(struct probes *probes, struct target *target, struct label_set *set)
{
	for (size_t i = 0; i < set->groups.n; i++) {
		struct label_group *group = &set->groups.at[i];
		if (!group->lacks_room)
			continue;
		pthread_mutex_lock(&probes->lock);
		group->lacks_room = false;
		pthread_mutex_unlock(&probes->lock);
		for (size_t j = 0; j < set->series.n && !group->lacks_room; j++)
			label_series_put(probes, target, group, &set->series.at[j]);
	}
}

/* Groups without a set, sets without series, series that some group has no way to. */
static void fill_room(struct probes *probes, struct target *target)
{
	struct label_sets *sets = &target->label_sets;

	if (!target->spec->labels_from || !sets->told)
		return;
	take_folded(probes, target);
	label_sets_renew(probes, target);
	for (size_t i = 0; i < sets->list.n; i++)
		put_lacking(probes, target, &sets->list.at[i]);
	sets->told = label_sets_folded(target);
}

void label_sets_tick(struct probes *probes)
{
	struct look look = {.now_ns = clock_now_ns()};

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
	for (size_t i = 0; i < probes->n_targets; i++)
		fill_room(probes, &probes->targets[i]);
}
