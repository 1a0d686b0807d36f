/* A look at all processes, for the filters of which something may have changed. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "filters_inside.h"

static void found(void *context, size_t at, struct procview *view, bool inherited)
{
	struct filters *filters = context;
	uint32_t number = filters->numbers[at];

	filters_decide(filters, number, view, inherited, true);
	if (!inherited)
		*vec_push(&filters->found) = (struct found){view->pid, number};
}

static int by_pid(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->filter > b->filter) - (a->filter < b->filter);
}

static bool is_passed_over(const struct filters *filters, uint32_t number)
{
	const struct filter *filter = &filters->filter[number];

	return !filter->spec || passes_of(filter->spec, &filter->rule) > filters->passing;
}

static bool was_found(const struct filters *filters, pid_t pid, uint32_t number)
{
	struct found key = {pid, number};

	return filters->found.n &&
	       bsearch(&key, filters->found.at, filters->found.n, sizeof(key), by_pid);
}

/* What a pass did not find any more does not match any more, unless it has just begun. */
static void drop_unfound(struct filters *filters, pid_t pid, const struct up_selected *entry)
{
	for (uint32_t i = 0; i < filters->n; i++)
		if (entry->itself[i] && !is_passed_over(filters, i) &&
		    !was_found(filters, pid, i)) {
			filters_look_at(filters,
					&(struct up_started){.tgid = (uint32_t)pid, .known = true});
			return;
		}
}

/* The selected processes of a filter that is passed over may have got other files. */
static void look_for_files(struct filters *filters, pid_t pid, const struct up_selected *entry)
{
	struct procview view;

	procview_glance(&view, filters->proc_fd, pid);
	ino_t ns = procview_mount_ns(&view);
	bool there = ns && ns != filters->home_ns && procview_pin(&view);
	for (uint32_t i = 0; there && i < filters->n; i++)
		if (is_passed_over(filters, i) && (entry->itself[i] || entry->inherited[i]))
			filters->callbacks.elsewhere(filters->callbacks.context, i, &view);
	procview_close(&view);
}

static void pass_selected(void *context, pid_t pid, const struct up_selected *entry)
{
	struct filters *filters = context;

	if (kill(pid, 0) && errno == ESRCH) { /* it ended just before it was decided on */
		select_forget(filters->select, pid);
		return;
	}
	drop_unfound(filters, pid, entry);
	if (filters->passing == PASS_CHANGING)
		look_for_files(filters, pid, entry);
}

/* Inodes that neither the path nor a process has may be given to any other file. */
static void unlearn_exes(struct filters *filters)
{
	for (uint32_t i = 0; i < filters->n; i++) {
		struct filter *filter = &filters->filter[i];
		if (is_passed_over(filters, i) || !(filter->rule.parts & UP_RULE_EXE))
			continue;
		if (filter->exe_ino)
			rule_learn_exe(&filter->found, filter->exe_dev, filter->exe_ino);
		if (rule_same_exes(&filter->rule, &filter->found))
			continue;
		memcpy(filter->rule.exe, filter->found.exe, sizeof(filter->rule.exe));
		filters_put_rule(filters, i);
	}
}

/* Which filters are not of the pass; whether there are others. */
static bool choose(const struct filters *filters, bool *skipped)
{
	bool any = false;

	for (size_t i = 0; i < filters->n_matches; i++) {
		skipped[i] = is_passed_over(filters, filters->numbers[i]);
		any |= !skipped[i];
	}
	return any;
}

static void run(struct filters *filters)
{
	bool skipped[UP_FILTERS], any = choose(filters, skipped);

	if (!filters->pass || (!any && filters->passing == PASS_QUICK))
		return;
	filters->found.n = 0;
	for (uint32_t i = 0; i < filters->n; i++)
		filters->filter[i].found = (struct up_rule){0};
	if (any && procpass_run(filters->pass, filters->proc_fd, skipped, found, filters))
		return;
	unlearn_exes(filters);
	if (filters->found.n)
		qsort(filters->found.at, filters->found.n, sizeof(*filters->found.at), by_pid);
	select_each(filters->select, pass_selected, filters);
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void filters_pass(struct filters *filters, enum pass kind)
{
	uint64_t before = cpu_ns();

	filters->passing = kind;
	filters->is_full &= kind != PASS_ALL;
	filters->callbacks.passing(filters->callbacks.context, true);
	run(filters);
	filters->callbacks.passing(filters->callbacks.context, false);
	passes_note(&filters->passes, kind, filters_now(), cpu_ns() - before);
}

void filters_look(struct filters *filters)
{
	filters_pass(filters, PASS_ALL);
}
