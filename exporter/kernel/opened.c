/*
 * A link cannot be changed: a probe that is taken away is disabled, and its link goes when all of
 * its probes have.
 */
#include "kernel/opened.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "base/vec.h"
#include "kernel/perprocess.h"
#include "kernel/sweep.h"

void opened_give_back(struct opened *opened, const struct member *member)
{
	if (member->has_site)
		sites_release(&opened->sites, member->place, member->member);
	if (member->first >= 0)
		maps_give_ids(opened->loaded->maps, member->first, member->n_ids);
}

static void disable(struct opened *opened, const struct member *member)
{
	for (size_t i = 0; i < member->n_ids; i++)
		maps_disable(opened->loaded->maps, member->first + (int)i);
}

/* Account for the open calls of the members that `chosen` (by index; NULL: all) says, disabled. */
static void sweep(struct opened *opened, const struct open_group *group, const bool *chosen)
{
	_cleanup_free_ int *entries = alloc_zero(group->members.n, sizeof(*entries));
	size_t n = 0;

	for (size_t i = 0; group->keeps_calls && i < group->members.n; i++)
		if (!chosen || chosen[i])
			entries[n++] = group->members.at[i].first;
	if (n)
		sweep_detached(&opened->loaded->object, opened->loaded->maps, entries, n);
}

static void close_group(struct opened *opened, struct open_group *group)
{
	linkset_close_entries(&group->linked.entries);
	perprocess_close_entries(group->per_process);
	for (size_t i = 0; i < group->members.n; i++)
		disable(opened, &group->members.at[i]);
	linkset_close(&group->linked.entries);
	linkset_close(&group->linked.exits);
	perprocess_free(group->per_process);
	sweep(opened, group, NULL);
	for (size_t i = 0; i < group->members.n; i++)
		opened_give_back(opened, &group->members.at[i]);
	opened->perf_room += group->n_entries;
	vec_fini(&group->members);
}

static void close_group_at(struct opened *opened, size_t at)
{
	close_group(opened, &opened->groups.at[at]);
	opened->groups.at[at] = opened->groups.at[--opened->groups.n];
}

static bool is_of(const struct open_group *group, dev_t dev, ino_t ino)
{
	return group->dev == dev && group->ino == ino;
}

bool opened_measures(const struct opened *opened, struct sites_place place, int series)
{
	for (size_t i = 0; i < opened->groups.n; i++) {
		const struct open_group *group = &opened->groups.at[i];
		if (group->dev != place.dev || group->ino != place.ino)
			continue;
		for (size_t j = 0; j < group->members.n; j++) {
			const struct member *member = &group->members.at[j];
			if (member->series == series && member->has_site &&
			    member->place.offset == place.offset)
				return true;
		}
	}
	return false;
}

void opened_close_file(struct opened *opened, dev_t dev, ino_t ino)
{
	for (size_t i = opened->groups.n; i-- > 0;)
		if (is_of(&opened->groups.at[i], dev, ino))
			close_group_at(opened, i);
}

void opened_close_process(struct opened *opened, pid_t pid)
{
	for (size_t i = opened->groups.n; i-- > 0;)
		if (opened->groups.at[i].pid == pid)
			close_group_at(opened, i);
}

void opened_fini(struct opened *opened)
{
	for (size_t i = 0; i < opened->groups.n; i++)
		close_group(opened, &opened->groups.at[i]);
	vec_fini(&opened->groups);
	sites_fini(&opened->sites);
}

/* Series that are taken away. */
struct removal {
	const struct opened_file *file; /* NULL: in all files */
	const int *series;		/* sorted */
	size_t n;
};

static bool is_removed(const struct removal *removal, const struct member *member)
{
	return bsearch(&member->series, removal->series, removal->n, sizeof(*removal->series),
		       sort_by_number);
}

static bool is_about(const struct removal *removal, const struct open_group *group)
{
	return !removal->file || is_of(group, removal->file->dev, removal->file->ino);
}

static bool disable_members(struct opened *opened, const struct open_group *group,
			    const struct removal *removal)
{
	bool any = false;

	for (size_t i = 0; i < group->members.n; i++) {
		if (!is_removed(removal, &group->members.at[i]))
			continue;
		disable(opened, &group->members.at[i]);
		any = true;
	}
	return any;
}

/* Take the members, which are disabled, away; whether any is left. */
static bool remove_members(struct opened *opened, struct open_group *group,
			   const struct removal *removal)
{
	_cleanup_free_ bool *chosen = alloc_zero(group->members.n, sizeof(*chosen));
	bool any = false, left = false;

	for (size_t i = 0; i < group->members.n; i++)
		any |= chosen[i] = is_removed(removal, &group->members.at[i]);
	if (any)
		sweep(opened, group, chosen);
	for (size_t i = 0; i < group->members.n; i++) {
		if (chosen[i])
			group->members.at[i].series = -1;
		left |= group->members.at[i].series >= 0;
	}
	return left;
}

void opened_remove(struct opened *opened, const struct opened_file *file, const int *series,
		   size_t n)
{
	_cleanup_free_ int *sorted = alloc_zero(n, sizeof(*sorted));
	struct removal removal = {file, sorted, n};
	bool any = false;

	for (size_t i = 0; i < n; i++)
		sorted[i] = series[i];
	if (n)
		qsort(sorted, n, sizeof(*sorted), sort_by_number);
	for (size_t i = 0; n && i < opened->groups.n; i++)
		if (is_about(&removal, &opened->groups.at[i]))
			any |= disable_members(opened, &opened->groups.at[i], &removal);
	if (any) /* programs that saw them enabled count to the end before the sweep */
		maps_wait(opened->loaded->maps);
	for (size_t i = opened->groups.n; n && i-- > 0;)
		if (is_about(&removal, &opened->groups.at[i]) &&
		    !remove_members(opened, &opened->groups.at[i], &removal))
			close_group_at(opened, i);
}
