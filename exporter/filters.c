/* Starts and passes to decisions. */
#include "filters_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/privs.h"

enum { UNNAMED_SECONDS = 1, REREAD_SECONDS = 2, FULL_SECONDS = 15 };
enum { CHECKS = 3 };

/* ---- rules ---- */

void filters_put_rule(struct filters *filters, uint32_t number)
{
	const struct filter *filter = &filters->filter[number];
	const struct spec_process *spec = filter->spec;
	struct select_inheritance inheritance = {0};

	if (spec) {
		inheritance.as_itself = !spec->pid && !spec->pidfile;
		inheritance.as_descendant = spec->children;
	}
	int result =
		select_set_rule(filters->select, number, filters->n, &filter->rule, inheritance);
	if (result)
		log_warn("a process filter cannot be set", LOG_STR("error", strerror(-result)));
}

/* ---- decisions ---- */

void filters_decide(struct filters *filters, uint32_t number, struct procview *view, bool inherited,
		    bool on)
{
	const struct procview_stat *stat = procview_stat(view);
	struct filter *filter = &filters->filter[number];
	dev_t dev;
	ino_t ino;

	if (!stat)
		return;
	struct select_decision decision = {
		.pid = view->pid,
		.start_ticks = stat->start_ticks,
		.filter = number,
		.inherited = inherited,
		.on = on,
		.group = on ? filters->callbacks.selected(filters->callbacks.context, number, view)
			    : 0,
	};
	int result = select_process(filters->select, &decision);
	if (result && !(result == -ENOSPC && filters->is_full))
		log_warn("a process cannot be selected", LOG_INT("pid", view->pid),
			 LOG_STR("error", strerror(-result)), LOG_INT("at_most", UP_SELECTED_ROOM));
	filters->is_full |= result == -ENOSPC;
	ino_t ns = on ? procview_mount_ns(view) : 0;
	if (ns && ns != filters->home_ns)
		filters->callbacks.elsewhere(filters->callbacks.context, number, view);
	if (!on || inherited || !(filter->rule.parts & UP_RULE_EXE) ||
	    !procview_exe_file(view, &dev, &ino) || !filters_device(filters, view, -1, dev, &dev))
		return;
	rule_learn_exe(&filter->found, dev, ino);
	if (ns && ns != filters->home_ns && !rule_is_at_path(&filter->exe, dev, ino))
		filters_note_place(filter, ns, dev, ino);
	if (rule_learn_exe(&filter->rule, dev, ino))
		filters_put_rule(filters, number);
}

/* Until two looks in a row agree. */
void filters_check_decision(struct filters *filters, uint32_t number, pid_t pid)
{
	bool on = true, same = false;

	for (int tries = 0; tries < CHECKS && !same; tries++) {
		struct procview now;
		same = !procview_open(&now, filters->proc_fd, pid) ||
		       procmatch_matches(filters->filter[number].match, &now) == on ||
		       procview_is_starved(&now);
		if (!same)
			filters_decide(filters, number, &now, false, on = !on);
		filters->again |= procview_is_starved(&now);
		procview_close(&now);
	}
}

/* Filters that are about one pid are not touched by what others start. */
static bool is_about_programs(const struct filter *filter)
{
	return filter->spec && filter->rule.parts;
}

uint32_t filters_group(struct filters *filters, struct procview *view)
{
	return groups_of(filters->groups, filters->pods, view);
}

/* It may be in another group than it was, and be selected all the same. */
static void note_group(struct filters *filters, struct procview *view)
{
	uint32_t group = filters_group(filters, view);
	const struct procview_stat *stat = procview_stat(view);

	if (group && stat)
		select_process(filters->select,
			       &(struct select_decision){.pid = view->pid,
							 .start_ticks = stat->start_ticks,
							 .filter = UP_FILTERS,
							 .group = group});
}

void filters_look_for_files(struct filters *filters, struct procview *view,
			    const struct up_selected *entry)
{
	ino_t ns = procview_mount_ns(view);

	if (!ns || ns == filters->home_ns || !procview_pin(view))
		return;
	procview_expect_start(view, entry->start_ticks);
	for (uint32_t i = 0; i < filters->n; i++)
		if (entry->itself[i] || entry->inherited[i])
			filters->callbacks.elsewhere(filters->callbacks.context, i, view);
}

/* It had been forked already when an ancestor was decided on. */
static void inherit(struct filters *filters, struct procview *view, pid_t ancestor)
{
	struct up_selected entry;

	if (!select_find(filters->select, ancestor, &entry) || !procview_pin(view) ||
	    !procview_is_process(view) || entry.start_ticks > procview_stat(view)->start_ticks)
		return;
	for (uint32_t i = 0; i < filters->n; i++)
		if (filters->filter[i].spec && filters->filter[i].spec->children &&
		    (entry.itself[i] || entry.inherited[i]))
			filters_decide(filters, i, view, true, true);
}

/* Before what is selected is not any more, links are followed anew: they may lead to it now. */
static bool fits(struct filter *filter, struct procview *view, bool selected)
{
	if (procmatch_matches(filter->match, view))
		return true;
	if (!selected || !(filter->rule.parts & UP_RULE_EXE))
		return false;
	procmatch_refresh(filter->match);
	return procmatch_matches(filter->match, view);
}

void filters_look_at(struct filters *filters, pid_t pid, const struct up_started *told)
{
	struct up_selected entry;
	struct procview view;
	bool has_group = false, by_pod = false;

	bool selected = select_find(filters->select, pid, &entry);
	procview_glance(&view, filters->proc_fd, pid);
	if (selected && !procview_pin(&view))
		return;
	procview_leads(&view);
	if (told)
		procview_started(&view, told->name, sizeof(told->name));
	for (uint32_t i = 0; i < filters->n; i++) {
		const struct spec_process *spec = filters->filter[i].spec;
		if (!is_about_programs(&filters->filter[i]))
			continue;
		by_pod |= spec->pod || spec->namespace;
		bool on = fits(&filters->filter[i], &view, entry.itself[i]);
		has_group |= on; /* decisions tell it */
		if (on || entry.itself[i])
			filters_decide(filters, i, &view, false, on);
		if (on && (told || !entry.itself[i]))
			filters_check_decision(filters, i, pid);
	}
	if (told && told->parent)
		inherit(filters, &view, (pid_t)told->parent);
	if (told && told->root && told->root != told->parent)
		inherit(filters, &view, (pid_t)told->root);
	if (selected) {
		memset(entry.itself, 0, sizeof(entry.itself)); /* decisions look for those */
		filters_look_for_files(filters, &view, &entry);
	}
	/* A pod whose name is still to come is looked at again (wanted_pass). */
	if (!has_group && (selected || by_pod) && procview_pin(&view))
		note_group(filters, &view);
	filters->again |= procview_is_starved(&view);
	procview_close(&view);
}

static void on_started(void *context, const struct up_started *started)
{
	struct filters *filters = context;

	if (started->filter)
		filters->callbacks.grouped(filters->callbacks.context, started->filter - 1,
					   started->group);
	else
		filters_look_at(filters, (pid_t)started->tgid, started);
}

/* ---- what a filter names may come to be something else ---- */

/* Whether a pass has to find who is in the cgroup of the name now. */
static bool follow_cgroup(struct filters *filters, uint32_t number)
{
	struct filter *filter = &filters->filter[number];

	if (!filter->spec || !rule_follow_cgroup(&filter->rule, filter->spec))
		return false;
	filters_put_rule(filters, number);
	return true;
}

/*
 * Another file is at the path of `exe`, whose processes count from the first instruction on.
 * Whether a pass has to find who runs the one before.
 */
static bool follow_exe(struct filters *filters, uint32_t number, bool closely)
{
	struct filter *filter = &filters->filter[number];

	if (!filter->spec || !(filter->rule.parts & UP_RULE_EXE) ||
	    !rule_follow_exe(&filter->rule, filter->spec, &filter->exe, closely))
		return false;
	filters_put_rule(filters, number);
	return true;
}

/* The process that is named begins after its pidfile is there, or has the number of an ended one.
 */
static bool has_come(struct filters *filters, uint32_t number, pid_t pid)
{
	struct up_selected entry;
	struct procview view;

	if (select_find(filters->select, pid, &entry) && entry.itself[number])
		return false; /* the kernel takes it out when the process ends */
	procview_glance(&view, filters->proc_fd, pid);
	bool come = procmatch_matches(filters->filter[number].match, &view);
	procview_close(&view);
	return come;
}

/* Another process is named, or none: whether a pass has to find it. */
static bool follow_pidfile(struct filters *filters, uint32_t number)
{
	struct filter *filter = &filters->filter[number];

	if (!filter->spec || !filter->spec->pidfile)
		return false;
	procmatch_refresh(filter->match);
	pid_t named = procmatch_pid(filter->match);
	if (named == filter->named)
		return named && !filter->rule.parts && has_come(filters, number, named);
	filter->named = named;
	if (filter->rule.parts & UP_RULE_PID) {
		rule_set_pid(&filter->rule, named);
		filters_put_rule(filters, number);
	}
	select_clear(filters->select, number);
	return named != 0;
}

/* Starts that there was no room to tell of: whether a pass has to find out about them. */
static bool missed_starts(struct filters *filters)
{
	uint64_t unheard = select_unheard(filters->select, UP_UNHEARD_STARTED);
	bool more = unheard != filters->unheard;

	filters->unheard = unheard;
	return more;
}

void filters_heard(struct filters *filters)
{
	select_each_started(filters->select, on_started, filters);
}

int filters_fd(const struct filters *filters)
{
	return select_started_fd(filters->select);
}

/* The kernel found no room for a process: it is tried again after a while. */
static void note_full(struct filters *filters)
{
	uint64_t unselected = select_unheard(filters->select, UP_UNHEARD_SELECTED);

	filters->is_full |= unselected != filters->unselected;
	filters->unselected = unselected;
}

/* Whether something leads to another process, file or cgroup than it did. */
static bool follow(struct filters *filters)
{
	time_t now = clock_now_s();
	bool more = false, closely = now != filters->followed;

	filters->followed = now;

	for (uint32_t i = 0; i < filters->n; i++) {
		more |= follow_pidfile(filters, i);
		more |= follow_cgroup(filters, i);
		more |= follow_exe(filters, i, closely);
	}
	return more;
}

static enum pass wanted_pass(struct filters *filters)
{
	time_t now = clock_now_s(), all = passes_age(&filters->passes, PASS_ALL, now),
	       changing = passes_age(&filters->passes, PASS_CHANGING, now);

	note_full(filters);
	filters->again |= missed_starts(filters);
	filters->again |= follow(filters);
	if (filters->again || (filters->is_full && all >= FULL_SECONDS))
		return PASS_ALL;
	enum pass due = passes_due(&filters->passes, now);
	bool unnamed = groups_are_unnamed(filters->groups) && changing >= UNNAMED_SECONDS;
	unnamed |= podnames_may_come(filters->pods) && changing >= REREAD_SECONDS;
	if (unnamed && due != PASS_ALL)
		return PASS_CHANGING;
	return due;
}

void filters_tick(struct filters *filters)
{
	if (!filters->pass)
		return;
	filters->n_devices = 0;
	filters_heard(filters);
	enum pass pass = wanted_pass(filters);
	if (pass != PASS_NONE)
		filters_pass(filters, pass);
}

/* ---- the set in force ---- */

struct filters *filters_new(struct attach *attach, struct groups *groups,
			    const struct filters_callbacks *callbacks)
{
	struct filters *filters = alloc_zero(1, sizeof(*filters));

	filters->select = attach_select(attach);
	filters->sees_all = privs_in_initial_pid_namespace();
	filters->groups = groups;
	filters->callbacks = *callbacks;
	filters->home_ns = select_home_ns();
	filters->pods = podnames_new(PODNAMES_FOLDER, PODNAMES_REREAD_NS);
	filters->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return filters;
}

static void end_filter(struct filter *filter)
{
	procmatch_free(filter->match);
	*filter = (struct filter){0};
}

void filters_free(struct filters *filters)
{
	if (!filters)
		return;
	procpass_free(filters->pass);
	for (uint32_t i = 0; i < UP_FILTERS; i++)
		if (filters->filter[i].spec)
			end_filter(&filters->filter[i]);
	podnames_free(filters->pods);
	if (filters->proc_fd >= 0)
		close(filters->proc_fd);
	vec_fini(&filters->found);
	free(filters);
}

static int find(const struct filters *filters, const struct spec_process *spec)
{
	for (uint32_t i = 0; i < filters->n; i++)
		if (filters->filter[i].spec && spec_same_process(filters->filter[i].spec, spec))
			return (int)i;
	return -1;
}

/* The same filter again, out of a spec that lives on: whether there was one. */
static bool take_over(struct filters *filters, const struct spec_process *spec, bool *kept)
{
	int at = find(filters, spec);

	if (at < 0)
		return false;
	struct filter *filter = &filters->filter[at];
	if (!kept[at]) {
		filter->spec = spec;
		procmatch_move(filter->match, spec);
	}
	kept[at] = true;
	return true;
}

static void add_filter(struct filters *filters, const struct spec_process *spec, bool *kept)
{
	uint32_t at = 0;

	while (at < UP_FILTERS && filters->filter[at].spec)
		at++;
	if (at == UP_FILTERS)
		return; /* filters_of() says so */
	struct filter *filter = &filters->filter[at];
	filter->spec = spec;
	filter->match = procmatch_new(spec, filters->pods);
	filter->named = procmatch_pid(filter->match);
	rule_make(&filter->rule, spec, filter->named);
	if (filter->rule.parts & UP_RULE_EXE)
		rule_follow_exe(&filter->rule, spec, &filter->exe, true);
	if (filters->n <= at)
		filters->n = at + 1;
	kept[at] = true;
	filters_put_rule(filters, at);
}

static void end_others(struct filters *filters, const bool *kept)
{
	bool ends[UP_FILTERS] = {false};
	uint32_t n = filters->n;

	for (uint32_t i = 0; i < n; i++) {
		ends[i] = filters->filter[i].spec && !kept[i];
		if (ends[i])
			end_filter(&filters->filter[i]);
	}
	while (filters->n && !filters->filter[filters->n - 1].spec)
		filters->n--;
	for (uint32_t i = 0; i < n; i++) {
		if (!ends[i])
			continue;
		filters_put_rule(filters, i);
		select_clear(filters->select, i);
	}
}

static void renew_pass(struct filters *filters)
{
	size_t n = 0;

	procpass_free(filters->pass);
	filters->pass = NULL;
	for (uint32_t i = 0; i < filters->n; i++) {
		if (!filters->filter[i].spec)
			continue;
		filters->numbers[n] = i;
		filters->matches[n++] = filters->filter[i].match;
	}
	filters->n_matches = n;
	if (n)
		filters->pass = procpass_new(filters->matches, n);
}

void filters_set(struct filters *filters, const struct spec *spec)
{
	bool kept[UP_FILTERS] = {false}, wanted = false;

	for (size_t i = 0; i < spec->n_targets; i++)
		wanted |= spec->targets[i].labels_from != 0;
	groups_set_wanted(filters->groups, wanted);
	for (size_t i = 0; i < spec->n_targets; i++)
		if (spec_process_is_set(&spec->targets[i].process))
			take_over(filters, &spec->targets[i].process, kept);
	end_others(filters, kept);
	select_forget_told(filters->select); /* other targets may have them */
	for (size_t i = 0; i < spec->n_targets; i++)
		if (spec_process_is_set(&spec->targets[i].process) &&
		    !take_over(filters, &spec->targets[i].process, kept))
			add_filter(filters, &spec->targets[i].process, kept);
	renew_pass(filters);
	filters_look(filters);
	filters_look(filters); /* for what was forked by those that it had not come to yet */
}

int filters_of(const struct filters *filters, const struct spec_target *target, struct err *err)
{
	int at = find(filters, &target->process);

	if (!spec_process_is_set(&target->process))
		return 0;
	if (!spec_is_pid_only(target) && !filters->sees_all)
		return err_set(err, -1, REASON_KERNEL_UNSUPPORTED,
			       "the exporter runs in a pid namespace of its own, where it cannot "
			       "tell processes as the kernel does: run it with the host's");
	if (at < 0)
		return err_set(err, -1, REASON_LIMIT, "more than %d different process filters",
			       UP_FILTERS);
	return at + 1;
}
