/*
 * The life of all probes: the tier is chosen once, then plans are attached group by group.
 *
 * Probes are linked while their records are disabled and enabled after: a link that is only
 * tried (see linkset_find_refused) counts nothing, and a call is counted either from entry to
 * exit or not at all.
 */
#include "kernel/attach.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/floor.h"
#include "kernel/group.h"
#include "kernel/linkset.h"
#include "kernel/load.h"
#include "kernel/privs.h"
#include "kernel/sweep.h"

/* The links of one group, as long as they are open. */
struct open_group {
	pid_t pid; /* of the process filter; 0: none */
	struct linkset entries, exits;
	int *probes; /* n_probes ids that these links are for, exits included */
	size_t n_probes;
};

struct attach {
	struct attach_options options;
	struct loaded loaded;
	VEC(struct open_group) groups;
	size_t perf_functions;
	atomic_bool has_exits; /* some probe sits on an exit */
};

static const char *const tier_names[] = {"auto", "session", "multi", "perf"};

const char *tier_name(enum tier tier)
{
	return tier_names[tier];
}

int tier_parse(const char *name, enum tier *tier)
{
	for (size_t i = 0; i < sizeof(tier_names) / sizeof(*tier_names); i++) {
		if (!strcmp(name, tier_names[i])) {
			*tier = (enum tier)i;
			return 0;
		}
	}
	return -EINVAL;
}

int attach_open(const struct attach_options *options, struct attach **out, struct err *err)
{
	struct attach *attach = alloc_zero(1, sizeof(*attach));

	attach->options = *options;
	privs_raise_nofile();
	int result = load_open(options, &attach->loaded, err);
	if (result) {
		free(attach);
		return result;
	}
	*out = attach;
	return 0;
}

enum tier attach_tier(const struct attach *attach)
{
	return attach->loaded.object.form->tier;
}

size_t attach_measure_floors(struct attach *attach, struct probe_floor *floors)
{
	return floor_measure(&attach->loaded.object, attach->loaded.maps, floors);
}

bool attach_is_sandbox_safe(const struct attach *attach)
{
	return attach->loaded.feature.sandbox_safe;
}

bool attach_pid_filter_covers_threads(const struct attach *attach)
{
	return attach->loaded.feature.pid_filter;
}

uint64_t attach_memory_bytes(const struct attach *attach, uint64_t *at_most)
{
	return maps_memory_bytes(attach->loaded.maps, at_most);
}

/* ---- attaching a plan ---------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static void refuse(struct attach_result *result,
							 enum reason reason, const char *fmt, ...)
{
	va_list args;

	result->attached = false;
	result->reason = reason;
	va_start(args, fmt);
	vsnprintf(result->detail, sizeof(result->detail), fmt, args);
	va_end(args);
}

static enum reason reason_of(int error)
{
	switch (-error) {
	case EPERM:
	case EACCES:
	case ENOSYS:
		return REASON_PERMISSION;
	case ESRCH:
		return REASON_PROCESS_NOT_FOUND;
	case ENOENT:
		return REASON_BINARY_NOT_FOUND;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
	case EINTR:
		return REASON_OUT_OF_RESOURCES;
	default:
		return REASON_KERNEL_REFUSED;
	}
}

static void refuse_for(const struct attach *attach, int error, struct attach_result *result)
{
	struct strbuf why = {0};
	enum reason reason = reason_of(error);

	if (reason == REASON_KERNEL_REFUSED)
		strbuf_printf(&why, "the kernel cannot probe the instruction there (error %d)",
			      -error);
	else if (reason == REASON_PROCESS_NOT_FOUND)
		strbuf_puts(&why, "the process has ended");
	else
		privs_explain(attach_tier(attach), error, &why);
	refuse(result, reason, "%s", strbuf_text(&why));
	strbuf_fini(&why);
}

/* Give a probe its series; false, with the reason in `result`, when there is none left. */
static bool ensure_series(struct attach *attach, const struct plan_probe *probe,
			  struct attach_result *result)
{
	struct err err;

	if (result->series >= 0)
		return true;
	int series = maps_add_series(attach->loaded.maps, probe->function->buckets, &err);
	if (series < 0) {
		refuse(result, err.reason, "%.*s", (int)sizeof(result->detail) - 1, err.msg);
		return false;
	}
	result->series = series;
	return true;
}

/* The perf tier detaches slowly; past the limit, more of it would hold up every stop. */
static bool perf_has_room(struct attach *attach, struct attach_result *result)
{
	if (attach_tier(attach) != TIER_PERF || attach->options.perf_force)
		return true;
	if (attach->perf_functions < ATTACH_PERF_LIMIT) {
		attach->perf_functions++;
		return true;
	}
	refuse(result, REASON_LIMIT,
	       "the perf tier takes %d functions: each takes about a quarter of a second to "
	       "detach, "
	       "also when the exporter is killed; --kernel.perf-force lifts the limit",
	       ATTACH_PERF_LIMIT);
	return false;
}

/*
 * The kernel looks at an instruction when a process that maps the file has to get the
 * breakpoint; without one, a probe that can never fire would attach. So map it ourselves for as
 * long as the link is made. NULL when that is not possible (a noexec mount): the probe is
 * attached all the same.
 */
static void *map_for_inspection(const struct plan_file *file, size_t *size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = file->exec_offset / page * page;

	*size = file->exec_offset + file->exec_size - from;
	void *text = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file->fd, (off_t)from);
	return text == MAP_FAILED ? NULL : text;
}

/* What linking a group needs at hand. */
struct linking {
	struct attach *attach;
	struct group *group;
	struct attach_result *results;
	char path[64];
};

static bool is_pending(const void *context, size_t owner)
{
	const struct attach_result *results = context;

	return results[owner].reason == REASON_NONE;
}

/* Refuse the owners of refused sites, and forget all sites of those. */
static void drop_refused(const struct linking *linking, const struct site_list *list,
			 const int *errors)
{
	for (size_t i = 0; i < list->n; i++)
		if (errors[i])
			refuse_for(linking->attach, errors[i], &linking->results[list->owners[i]]);
	site_list_filter(&linking->group->entries, is_pending, linking->results);
	site_list_filter(&linking->group->exits, is_pending, linking->results);
}

/*
 * Link one list. 0; -EAGAIN when sites were refused, and dropped, so that the group has to be
 * linked anew; or the error that holds for all.
 */
static int link_list(const struct linking *linking, const struct site_list *list,
		     enum link_kind kind, struct linkset *links)
{
	const struct object *object = &linking->attach->loaded.object;
	struct link_sites sites = {
		.path = linking->path,
		.offsets = list->offsets,
		.cookies = list->cookies,
		.n = list->n,
		.pid = linking->attach->loaded.feature.pid_filter ? linking->group->pid : 0,
	};

	*links = (struct linkset){0};
	if (!list->n)
		return 0;
	int result = linkset_open(links, object, &sites, kind);
	if (!linkset_error_is_of_site(result))
		return result;
	_cleanup_free_ int *errors = alloc_zero(list->n, sizeof(*errors));
	unsigned tries = linkset_find_refused(object, &sites, kind, errors);
	log_debug("the kernel refuses some sites", LOG_STR("file", linking->group->file->path),
		  LOG_INT("tries", tries));
	drop_refused(linking, list, errors);
	return -EAGAIN;
}

/* Exits first: a call that is counted at its entry must find its exits probed. */
static int link_once(const struct linking *linking, struct open_group *open)
{
	const struct group *group = linking->group;
	enum link_kind kind = group->strategy == STRATEGY_URETPROBE ? LINK_CALL : LINK_ENTRY;
	int result = link_list(linking, &group->exits, LINK_EXIT, &open->exits);

	if (result)
		return result;
	result = link_list(linking, &group->entries, kind, &open->entries);
	if (result)
		linkset_close(&open->exits);
	return result;
}

/* Each round either links all that is left or finds more that is refused. */
static int link_group(const struct linking *linking, struct open_group *open)
{
	int result = -EAGAIN;

	for (int round = 0; round < 4 && result == -EAGAIN; round++)
		result = link_once(linking, open);
	return result;
}

static void enable_list(const struct linking *linking, const struct site_list *list,
			struct open_group *open)
{
	struct attach *attach = linking->attach;
	pid_t pid = linking->group->pid;
	uint32_t tgid = attach->loaded.feature.pid_filter ? 0 : (uint32_t)pid;

	for (size_t i = 0; i < list->n; i++) {
		open->probes[open->n_probes++] = (int)list->cookies[i];
		maps_enable(attach->loaded.maps, (int)list->cookies[i], tgid);
	}
}

static void enable_group(const struct linking *linking, struct open_group *open)
{
	const struct group *group = linking->group;

	if (group->exits.n)
		linking->attach->has_exits = true;
	open->pid = group->pid;
	open->probes = alloc_zero(group->entries.n + group->exits.n, sizeof(*open->probes));
	enable_list(linking, &group->exits, open); /* before the calls that need them are counted */
	enable_list(linking, &group->entries, open);
	for (size_t i = 0; i < group->entries.n; i++) {
		struct attach_result *result = &linking->results[group->entries.owners[i]];
		result->attached = true;
		result->reason = REASON_NONE;
		result->detail[0] = '\0';
	}
}

/* Before 6.10 the kernel's pid filter misses threads; ours compares initial-namespace pids. */
static bool in_initial_pid_namespace(void)
{
	char link[64] = "";

	return readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0 &&
	       !strcmp(link, "pid:[4026531836]"); /* PROC_PID_INIT_INO */
}

static void refuse_group(const struct linking *linking, enum reason reason, const char *detail)
{
	const struct site_list *entries = &linking->group->entries;

	for (size_t i = 0; i < entries->n; i++)
		refuse(&linking->results[entries->owners[i]], reason, "%s", detail);
}

static void link_and_enable(const struct linking *linking)
{
	const struct site_list *entries = &linking->group->entries;
	struct open_group open = {0};
	size_t text_size;
	void *text =
		linking->group->pid ? NULL : map_for_inspection(linking->group->file, &text_size);
	int result = link_group(linking, &open);

	if (text)
		munmap(text, text_size);
	for (size_t i = 0; result && i < entries->n; i++)
		refuse_for(linking->attach, result, &linking->results[entries->owners[i]]);
	if (result || !entries->n)
		return;
	enable_group(linking, &open);
	*vec_push(&linking->attach->groups) = open;
}

static void attach_group(struct attach *attach, struct group *group, struct attach_result *results)
{
	struct linking linking = {.attach = attach, .group = group, .results = results};

	snprintf(linking.path, sizeof(linking.path), "/proc/self/fd/%d", group->file->fd);
	if (group->pid && !attach->loaded.feature.pid_filter && !in_initial_pid_namespace())
		refuse_group(&linking, REASON_KERNEL_UNSUPPORTED,
			     "this kernel's pid filter misses threads (mended in 6.10), and the "
			     "exporter runs in a pid namespace of its own: run it with the host's");
	else
		link_and_enable(&linking);
}

/* FNV-1a over the site's identity. That two sites share a number is rare and does no harm. */
static uint32_t site_number(const struct plan_file *file, uint64_t offset)
{
	uint64_t words[] = {file->dev, file->ino, offset};
	const unsigned char *bytes = (const unsigned char *)words;
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ bytes[i]) * 16777619U;
	return hash;
}

/* A kernel whose return probes kill sandboxed targets gets none, unless asked for by name. */
static bool kernel_is_safe_for(const struct attach *attach, const struct plan_probe *probe,
			       struct attach_result *result)
{
	if (probe->strategy != STRATEGY_URETPROBE || attach->loaded.feature.sandbox_safe ||
	    probe->function->exit == EXIT_URETPROBE)
		return true;
	refuse(result, REASON_UNSAFE_RETURN,
	       "on this kernel a return probe trips the seccomp filter of a sandboxed program: use "
	       "exit: return-sites, or exit: uretprobe where the target has no such filter");
	return false;
}

static bool can_attach(struct attach *attach, const struct plan_probe *probe,
		       struct attach_result *result)
{
	if (result->attached)
		return false; /* by an earlier plan */
	result->reason = probe->reason;
	result->detail[0] = '\0';
	return probe->reason == REASON_NONE && !probe->shared_with &&
	       kernel_is_safe_for(attach, probe, result) && perf_has_room(attach, result) && ensure_series(attach, probe, result);
}

static bool is_other(const void *context, size_t owner)
{
	return owner != *(const size_t *)context;
}

/* Put the entry, and the exits that are probed themselves, into the probe's group. */
static void add_to_group(struct attach *attach, struct group_list *groups,
			 const struct plan_probe *probe, size_t index, struct attach_result *result)
{
	static const uint32_t flags_of[] = {
		[STRATEGY_NONE] = UP_PROBE_COUNT_ONLY,
		[STRATEGY_URETPROBE] = 0,
		[STRATEGY_RETURN_SITES] = UP_PROBE_RETURN_SITES,
	};
	struct group *group = group_of(groups, probe);
	struct maps_site entry = {
		.number = site_number(probe->file, probe->entry_offset),
		.sp_adjust = probe->entry_sp_adjust,
		.condition = probe->entry_condition,
	};

	for (size_t i = 0; i < probe->n_sites; i++) {
		const struct plan_site *site = &probe->sites[i];
		struct maps_site exit = {
			.number = site_number(probe->file, site->offset),
			.sp_adjust = site->sp_adjust,
			.condition = site->condition,
		};
		int id = maps_add_exit(attach->loaded.maps, result->series, &exit);
		if (id < 0) {
			refuse(result, REASON_LIMIT,
			       "no room for more probes on exits; raise limits.series");
			site_list_filter(&group->exits, is_other, &index);
			return;
		}
		site_list_add(&group->exits, site->offset, (uint64_t)id, index);
	}
	maps_set_entry(attach->loaded.maps, result->series, flags_of[probe->strategy], &entry);
	site_list_add(&group->entries, probe->entry_offset, (uint64_t)result->series, index);
}

void attach_plan(struct attach *attach, const struct plan *plan, struct attach_result *results)
{
	struct group_list groups = {0};

	for (size_t i = 0; i < plan->n_probes; i++)
		if (can_attach(attach, &plan->probes[i], &results[i]))
			add_to_group(attach, &groups, &plan->probes[i], i, &results[i]);
	for (size_t i = 0; i < groups.n; i++)
		attach_group(attach, &groups.at[i], results);
	group_list_fini(&groups);
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (probe->reason == REASON_NONE && probe->shared_with && !results[i].attached)
			results[i] = results[probe->shared_with - plan->probes];
	}
}

/* ---- the end ------------------------------------------------------------------------------------
 */

static void close_group(struct attach *attach, struct open_group *open)
{
	linkset_close_entries(&open->entries);
	for (size_t i = 0; i < open->n_probes; i++)
		maps_disable(attach->loaded.maps, open->probes[i]);
	linkset_close(&open->entries);
	linkset_close(&open->exits);
	free(open->probes);
}

void attach_drop_process(struct attach *attach, pid_t pid)
{
	for (size_t i = 0; i < attach->groups.n;) {
		struct open_group *open = &attach->groups.at[i];
		if (open->pid != pid) {
			i++;
			continue;
		}
		close_group(attach, open);
		*open = attach->groups.at[--attach->groups.n];
	}
}

void attach_sweep(struct attach *attach)
{
	if (attach->has_exits)
		sweep_calls(&attach->loaded.object, attach->loaded.maps);
}

void attach_read(const struct attach *attach, int series, struct reading *reading)
{
	maps_read(attach->loaded.maps, series, reading);
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	for (size_t i = 0; i < attach->groups.n; i++)
		close_group(attach, &attach->groups.at[i]);
	vec_fini(&attach->groups);
	load_close(&attach->loaded);
	free(attach);
}
