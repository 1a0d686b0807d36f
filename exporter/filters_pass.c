/* A look at all processes, for the filters of which something may have changed. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "filters_inside.h"

static void found(void *context, size_t at, struct procview *view, bool inherited)
{
	struct filters *filters = context;
	uint32_t number = filters->numbers[at];
	struct up_selected entry;

	if (!inherited)
		select_find(filters->select, view->pid, &entry);
	filters_decide(filters, number, view, inherited, true);
	if (inherited)
		return;
	if (!entry.itself[number])
		filters_check_decision(filters, number, view->pid);
	*vec_push(&filters->found) = (struct found){view->pid, number};
}

static int by_pid(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->filter > b->filter) - (a->filter < b->filter);
}

static bool was_found(const struct filters *filters, pid_t pid, uint32_t number)
{
	struct found key = {pid, number};

	return filters->found.n &&
	       bsearch(&key, filters->found.at, filters->found.n, sizeof(key), by_pid);
}

/* What a pass did not find any more does not match any more, unless it has just begun. */
static bool is_unfound(const struct filters *filters, pid_t pid, const struct up_selected *entry)
{
	for (uint32_t i = 0; i < filters->n; i++)
		if (entry->itself[i] && filters->filter[i].spec && !filters->filter[i].skipped &&
		    !was_found(filters, pid, i))
			return true;
	return false;
}

static void pass_selected(void *context, pid_t pid, const struct up_selected *entry)
{
	struct filters *filters = context;
	struct procview view;

	if (kill(pid, 0) && errno == ESRCH) { /* it ended just before it was decided on */
		select_forget(filters->select, pid);
		return;
	}
	if (is_unfound(filters, pid, entry) ||
	    (!entry->group && groups_are_wanted(filters->groups)))
		filters_look_at(filters, pid, NULL);
	if (filters->passing == PASS_QUICK)
		return;
	procview_glance(&view, filters->proc_fd, pid);
	filters_look_for_files(filters, &view, entry);
	procview_close(&view);
}

static void find_exes_at_paths(struct filters *filters)
{
	for (uint32_t i = 0; i < filters->n; i++) {
		struct filter *filter = &filters->filter[i];
		if (filter->spec && filter->exe.ino)
			rule_learn_exe(&filter->found, filter->exe.dev, filter->exe.ino);
	}
}

/* Inodes that neither a path nor a process has may be given to any other file. */
static void unlearn_exes(struct filters *filters)
{
	for (uint32_t i = 0; i < filters->n; i++) {
		struct filter *filter = &filters->filter[i];
		if (!filter->spec || filter->skipped || !(filter->rule.parts & UP_RULE_EXE))
			continue;
		if (rule_same_exes(&filter->rule, &filter->found))
			continue;
		memcpy(filter->rule.exe, filter->found.exe, sizeof(filter->rule.exe));
		filters_put_rule(filters, i);
	}
}

/* Which filters the pass is not for; whether it is for others. */
static bool choose(struct filters *filters, bool *skipped)
{
	bool any = false;

	for (size_t i = 0; i < filters->n_matches; i++) {
		struct filter *filter = &filters->filter[filters->numbers[i]];
		bool others = rule_knows_others(&filter->rule, &filter->exe);
		filter->skipped = passes_of(filter->spec, others) > filters->passing;
		skipped[i] = filter->skipped;
		any |= !skipped[i];
	}
	return any;
}

/* Whether it could be done. */
static bool run(struct filters *filters)
{
	bool skipped[UP_FILTERS], any = choose(filters, skipped);

	if (!filters->pass || (!any && filters->passing == PASS_QUICK))
		return true;
	filters->found.n = 0;
	for (uint32_t i = 0; i < filters->n; i++)
		filters->filter[i].found = (struct up_rule){0};
	if (any && procpass_run(filters->pass, filters->proc_fd, skipped, found, filters))
		return false;
	find_exes_at_paths(filters);
	if (filters_look_into_places(filters))
		return false;
	find_exes_at_paths(filters); /* places may have pushed them out */
	unlearn_exes(filters);
	if (filters->found.n)
		qsort(filters->found.at, filters->found.n, sizeof(*filters->found.at), by_pid);
	select_each(filters->select, pass_selected, filters);
	return true;
}

void filters_pass(struct filters *filters, enum pass kind)
{
	uint64_t before = clock_thread_cpu_ns();

	filters->passing = kind;
	filters->is_full &= kind != PASS_ALL;
	filters->again &= kind != PASS_ALL;
	filters->callbacks.passing(filters->callbacks.context, true);
	bool done = run(filters);
	filters->callbacks.passing(filters->callbacks.context, false);
	filters->again |= !done && kind == PASS_ALL;
	if (done)
		passes_note(&filters->passes, kind, clock_now_s(), clock_thread_cpu_ns() - before);
}

void filters_look(struct filters *filters)
{
	filters_pass(filters, PASS_ALL);
}
