/* Ways in the kernel from a group to its set's series, and the rows that a scrape shows of them. */
#include "label_series.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/sort.h"
#include "table.h"

#define OTHER "other"

const struct label_series *label_series_find(const struct label_set *set, int of)
{
	for (size_t i = 0; i < set->series.n; i++)
		if (set->series.at[i].of == of)
			return &set->series.at[i];
	return NULL;
}

void label_series_no_room(struct target *target, const char *why)
{
	if (!target->label_sets.told)
		log_warn("calls of some containers are counted under `other`",
			 LOG_STR("target", target->spec->name), LOG_STR("why", why));
	target->label_sets.told = true;
}

void label_series_put(struct probes *probes, struct target *target, struct label_group *group,
		      const struct label_series *series)
{
	if (!attach_put_group(probes->attach, series->of, group->group, series->series))
		return;
	label_series_no_room(target, "no room for more containers: raise limits.series");
	pthread_mutex_lock(&probes->lock);
	group->lacks_room = true;
	pthread_mutex_unlock(&probes->lock);
}

/* Whether the set has one for the probe now. */
static bool add_series(struct probes *probes, struct target *target, struct label_set *set,
		       const struct probe *probe)
{
	struct label_series series = {.of = probe->series,
				      .counts = probe->plan->function->exit == EXIT_NONE,
				      .created_unix = table_now_unix()};
	struct err err;

	if (label_series_find(set, probe->series))
		return true;
	series.series =
		attach_add_group_series(probes->attach, probe->plan->function->buckets, &err);
	if (series.series < 0) {
		label_series_no_room(target, err.msg);
		return false;
	}
	pthread_mutex_lock(&probes->lock);
	*vec_push(&set->series) = series;
	pthread_mutex_unlock(&probes->lock);
	for (size_t i = 0; i < set->groups.n; i++)
		label_series_put(probes, target, &set->groups.at[i], &series);
	return true;
}

void label_series_cut(struct probes *probes, const struct label_set *set,
		      const struct label_series *series)
{
	for (size_t i = 0; i < set->groups.n; i++)
		attach_drop_group(probes->attach, series->of, set->groups.at[i].group);
}

void label_series_end(struct probes *probes, struct label_set *set, size_t at)
{
	struct label_series series = set->series.at[at];

	attach_end_group_series(probes->attach, series.of, series.series, series.counts);
	set->series.at[at] = set->series.at[--set->series.n];
}

void label_sets_renew(struct probes *probes, struct target *target)
{
	for (size_t i = 0; i < target->label_sets.list.n; i++)
		for (size_t j = 0; j < target->n_probes; j++)
			if (target->probes[j].series >= 0 &&
			    !add_series(probes, target, &target->label_sets.list.at[i],
					&target->probes[j]))
				return; /* no room for any other one either */
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
				label_series_cut(probes, set, &set->series.at[j]);
	}
}

void label_sets_forget(struct probes *probes, struct target *target, const int *series, size_t n)
{
	for (size_t i = 0; i < target->label_sets.list.n; i++) {
		struct label_set *set = &target->label_sets.list.at[i];
		for (size_t j = set->series.n; j-- > 0;)
			if (stands_for(&set->series.at[j], series, n))
				label_series_end(probes, set, j);
	}
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

static bool lacks_series(const struct target *target, const struct label_set *set)
{
	for (size_t i = 0; i < target->n_probes; i++)
		if (target->probes[i].series >= 0 &&
		    !label_series_find(set, target->probes[i].series))
			return true;
	return false;
}

static size_t count_lacking(const struct target *target, const struct label_set *set)
{
	size_t n = 0;

	if (lacks_series(target, set))
		return set->groups.n;
	for (size_t i = 0; i < set->groups.n; i++)
		n += set->groups.at[i].lacks_room;
	return n;
}

size_t label_sets_folded(const struct target *target)
{
	const struct label_sets *sets = &target->label_sets;
	size_t n = sets->folded.n;

	for (size_t i = 0; sets->told && i < sets->list.n; i++)
		n += count_lacking(target, &sets->list.at[i]);
	return n;
}

/* Not all sets have one for each of the target's probes, and a reading is large. */
static size_t count_series(const struct label_sets *sets, int of)
{
	size_t n = 0;

	for (size_t i = 0; i < sets->list.n; i++)
		n += label_series_find(&sets->list.at[i], of) != NULL;
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
		const struct label_series *own = label_series_find(set, series);
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
