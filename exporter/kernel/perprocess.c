/* Which processes are selected is read from the kernel programs' own map, in passes. */
#include "kernel/perprocess.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/refuse.h"

/*
 * A process that is not selected any more keeps its links for as long: calls that it is in may be
 * measured to their end. So does one whose end is not told yet.
 */
#define GRACE_NS 1000000000U
/* After an error, before it is tried again: with thousands of sites a try is not cheap. */
#define PAUSE_NS 5000000000U

/* The links into one process. */
struct process_links {
	pid_t pid;
	uint64_t start_ticks; /* as struct up_selected has it */
	uint32_t replaced;    /* … when they were made: with another number they are nobody's */
	uint64_t selected_ns; /* when it was last seen to be; CLOCK_MONOTONIC */
	struct linked linked;
};

struct per_process {
	uint32_t filter;
	enum exit_strategy strategy;
	int fd; /* of the file; owned */
	struct site_list entries, exits;
	VEC(struct process_links) processes; /* ATTACH_MOST_PROCESSES at most */
	size_t n_selected;		     /* that were alive at the last pass */
	int error;			     /* of the last try: why one has no links; 0: none */
	pid_t headless;			     /* one that cannot have any, at the last try */
	uint64_t failed_ns;		     /* when it was made */
	bool told;
};

struct per_process *perprocess_new(struct group *group)
{
	struct per_process *own = alloc_zero(1, sizeof(*own));

	own->filter = (uint32_t)group->filter - 1;
	own->strategy = group->strategy;
	own->fd = fcntl(group->file->fd, F_DUPFD_CLOEXEC, 0);
	own->entries = group->entries;
	own->exits = group->exits;
	group->entries = group->exits = (struct site_list){0};
	return own;
}

static void close_links(struct process_links *links)
{
	linkset_close(&links->linked.entries);
	linkset_close(&links->linked.exits);
}

static void close_at(struct per_process *own, size_t at)
{
	close_links(&own->processes.at[at]);
	own->processes.at[at] = own->processes.at[--own->processes.n];
}

void perprocess_close_entries(struct per_process *own)
{
	for (size_t i = 0; own && i < own->processes.n; i++)
		linkset_close_entries(&own->processes.at[i].linked.entries);
}

void perprocess_free(struct per_process *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->processes.n; i++)
		close_links(&own->processes.at[i]);
	vec_fini(&own->processes);
	site_list_fini(&own->entries);
	site_list_fini(&own->exits);
	if (own->fd >= 0)
		close(own->fd);
	free(own);
}

/* ---- links ---- */

static int open_list(const struct opened *opened, const struct per_process *own,
		     const struct site_list *list, enum link_kind kind, pid_t pid,
		     struct linkset *links)
{
	char path[64];

	if (!list->n)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", own->fd);
	struct link_sites sites = {
		.path = path,
		.offsets = list->offsets,
		.cookies = list->cookies,
		.semaphores = own->strategy == STRATEGY_USDT ? list->semaphores : NULL,
		.n = list->n,
		.pid = pid,
	};
	return linkset_open(links, &opened->loaded->object, &sites, kind);
}

/* Exits first: a call that is counted at its entry must find its exits probed. */
static int open_links(const struct opened *opened, const struct per_process *own, pid_t pid,
		      struct linked *linked)
{
	*linked = (struct linked){0};
	int result = open_list(opened, own, &own->exits, LINK_EXIT, pid, &linked->exits);

	if (result)
		return result;
	result = open_list(opened, own, &own->entries, linking_kind(own->strategy), pid,
			   &linked->entries);
	if (result)
		linkset_close(&linked->exits);
	return result;
}

/* ---- passes ---- */

/* A process that one of the filters selects. */
struct chosen {
	uint32_t filter;
	pid_t pid;
	uint64_t start_ticks;
	uint32_t replaced;
};

struct pass {
	bool asked[UP_FILTERS]; /* filters of groups */
	VEC(struct chosen) chosen;
	uint64_t now_ns;
};

static void choose(void *context, pid_t pid, const struct up_selected *entry)
{
	struct pass *pass = context;

	for (uint32_t i = 0; i < UP_FILTERS; i++)
		if (pass->asked[i] && (entry->itself[i] || entry->inherited[i]) &&
		    !(kill(pid, 0) && errno == ESRCH))
			*vec_push(&pass->chosen) =
				(struct chosen){i, pid, entry->start_ticks, entry->replaced};
}

static struct process_links *find(struct per_process *own, const struct chosen *chosen)
{
	for (size_t i = 0; i < own->processes.n; i++) {
		struct process_links *links = &own->processes.at[i];
		if (links->pid == chosen->pid && links->start_ticks == chosen->start_ticks)
			return links;
	}
	return NULL;
}

/*
 * Links of before another thread took the first one's place go at once, before others are made:
 * they place nothing, but where these do they run beside them.
 */
static void mark_selected(struct per_process *own, const struct pass *pass)
{
	own->n_selected = 0;
	for (size_t i = 0; i < pass->chosen.n; i++) {
		if (pass->chosen.at[i].filter != own->filter)
			continue;
		struct process_links *links = find(own, &pass->chosen.at[i]);
		if (links)
			links->selected_ns =
				links->replaced == pass->chosen.at[i].replaced ? pass->now_ns : 0;
		own->n_selected++;
	}
}

/* Those that are not selected go when their time has come, or when others need the room. */
static void close_unselected(struct per_process *own, uint64_t now_ns)
{
	for (size_t i = own->processes.n; i-- > 0;) {
		const struct process_links *links = &own->processes.at[i];
		if (links->selected_ns == now_ns)
			continue;
		bool ended = kill(links->pid, 0) && errno == ESRCH;
		if (ended || own->n_selected >= ATTACH_MOST_PROCESSES ||
		    now_ns - links->selected_ns >= GRACE_NS)
			close_at(own, i);
	}
}

/* Whether a task has memory of its own; when it cannot be seen, it is taken to. */
static bool has_memory(pid_t pid, const char *tid)
{
	char path[64], link;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/exe", (int)pid, tid);
	return readlink(path, &link, 1) >= 0 || (errno != ENOENT && errno != ESRCH);
}

/*
 * The kernel knows the process that a link is for by the memory of its first thread, and places
 * nothing when that has ended before the others. When all have, the process is about to end.
 */
static bool is_headless(pid_t pid)
{
	char path[64], first[16];
	bool others = false;

	snprintf(first, sizeof(first), "%d", (int)pid);
	if (has_memory(pid, first))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);
	for (struct dirent *entry; threads && !others && (entry = readdir(threads));)
		others = isdigit((unsigned char)entry->d_name[0]) && has_memory(pid, entry->d_name);
	if (threads)
		closedir(threads);
	return others;
}

static void open_chosen(const struct opened *opened, struct per_process *own,
			const struct chosen *chosen, uint64_t now_ns)
{
	struct process_links links = {.pid = chosen->pid,
				      .start_ticks = chosen->start_ticks,
				      .replaced = chosen->replaced,
				      .selected_ns = now_ns};
	bool headless = is_headless(chosen->pid);
	int result = headless ? 0 : open_links(opened, own, chosen->pid, &links.linked);

	if (headless)
		own->headless = chosen->pid;
	else if (!result)
		*vec_push(&own->processes) = links;
	else if (result == -ESRCH)
		own->n_selected--; /* it has just ended */
	else
		own->error = result;
	if (own->error)
		own->failed_ns = now_ns;
}

static void follow(const struct opened *opened, struct per_process *own, const struct pass *pass)
{
	mark_selected(own, pass);
	close_unselected(own, pass->now_ns);
	if (own->error && pass->now_ns - own->failed_ns < PAUSE_NS)
		return;
	own->error = own->headless = 0;
	for (size_t i = 0; i < pass->chosen.n; i++) {
		const struct chosen *chosen = &pass->chosen.at[i];
		if (chosen->filter == own->filter && !find(own, chosen) &&
		    own->processes.n < ATTACH_MOST_PROCESSES)
			open_chosen(opened, own, chosen, pass->now_ns);
	}
}

/* Once for each group; from then on for those who look closely. */
static void tell(struct per_process *own, size_t before)
{
	char file[64], path[512];

	if (own->told && own->processes.n == before)
		return;
	snprintf(file, sizeof(file), "/proc/self/fd/%d", own->fd);
	ssize_t n = readlink(file, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	log_at(own->told ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "links per process",
	       LOG_STR("binary", path), LOG_INT("processes", own->processes.n),
	       LOG_INT("selected", own->n_selected), LOG_INT("at_most", ATTACH_MOST_PROCESSES));
	own->told = true;
}

void perprocess_follow(struct opened *opened)
{
	struct pass pass = {.now_ns = clock_now_ns()};
	bool any = false;

	for (size_t i = 0; i < opened->groups.n; i++)
		if (opened->groups.at[i].per_process)
			any = pass.asked[opened->groups.at[i].per_process->filter] = true;
	if (!any)
		return;
	select_each(&opened->loaded->select, choose, &pass);
	for (size_t i = 0; i < opened->groups.n; i++) {
		struct per_process *own = opened->groups.at[i].per_process;
		size_t before = own ? own->processes.n : 0;
		if (!own)
			continue;
		follow(opened, own, &pass);
		tell(own, before);
	}
	vec_fini(&pass.chosen);
}

/* ---- what is in the way ---- */

static bool has_series(const struct open_group *group, int series)
{
	for (size_t i = 0; i < group->members.n; i++)
		if (group->members.at[i].series == series)
			return true;
	return false;
}

static enum reason explain(const struct opened *opened, const struct per_process *own, char *detail,
			   size_t size)
{
	struct attach_result result;

	if (own->error) {
		refuse_for_error(&result, opened->loaded->object.form->tier, own->error);
		snprintf(detail, size, "%s", result.detail);
		return result.reason;
	}
	if (own->headless) {
		snprintf(detail, size,
			 "process %d goes on without its first thread, by which the kernel would "
			 "know it",
			 (int)own->headless);
		return REASON_PROCESS_NOT_FOUND;
	}
	snprintf(detail, size,
		 "%zu processes are selected, and the file is mapped by so many programs that each "
		 "needs links of its own, which %d can have: the others are not measured. Narrow "
		 "the filter, or accept the cost (host_cost: allow)",
		 own->n_selected, ATTACH_MOST_PROCESSES);
	return REASON_HOST_COST;
}

enum reason perprocess_held_back(const struct opened *opened, int series, char *detail, size_t size)
{
	for (size_t i = 0; i < opened->groups.n; i++) {
		const struct open_group *group = &opened->groups.at[i];
		const struct per_process *own = group->per_process;
		if (own &&
		    (own->error || own->headless || own->n_selected > ATTACH_MOST_PROCESSES) &&
		    has_series(group, series))
			return explain(opened, own, detail, size);
	}
	return REASON_NONE;
}
