/*
 * The life of all probes: the tier is chosen once, then plans are attached group by group.
 *
 * Probes are linked while their records are disabled and enabled after: a link that is only
 * tried (see linkset_find_refused) counts nothing, and a call is counted either from entry to
 * exit or not at all.
 */
#include "kernel/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/feature.h"
#include "kernel/group.h"
#include "kernel/linkset.h"
#include "kernel/maps.h"
#include "kernel/object.h"
#include "kernel/privs.h"

/* The links of one group, as long as they are open. */
struct open_group {
	pid_t pid; /* of the process filter; 0: none */
	struct linkset links;
	int *series; /* n_series that these links feed */
	size_t n_series;
};

struct attach {
	struct attach_options options;
	struct object object;
	struct maps *maps;
	struct feature feature;
	VEC(struct open_group) groups;
	int exit_fd, exec_fd; /* tracepoints that empty the in-flight stacks */
	size_t perf_functions;
	unsigned long nofile;
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

/* ---- choosing the tier ------------------------------------------------------------------------ */

static struct object_sizes sizes_for(const struct spec_limits *limits)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t shards = cpus > 0 && (uint32_t)cpus < limits->shards ? (uint32_t)cpus : limits->shards;

	return (struct object_sizes){
		/* A series with many bounds takes two slots; one series is the self-test's. */
		.chunks = 2 * (limits->series + 1) / UP_CHUNK_SLOTS + 1,
		.shards = shards ? shards : 1,
		.probes = limits->series + 1,
	};
}

static void unload(struct attach *attach)
{
	if (attach->exit_fd >= 0)
		close(attach->exit_fd);
	if (attach->exec_fd >= 0)
		close(attach->exec_fd);
	attach->exit_fd = attach->exec_fd = -1;
	maps_close(attach->maps);
	attach->maps = NULL;
	object_close(&attach->object);
}

static int link_tracepoints(struct attach *attach, struct err *err)
{
	attach->exit_fd = link_tracepoint(attach->object.prog_thread_exit);
	attach->exec_fd = link_tracepoint(attach->object.prog_thread_exec);
	int result = attach->exit_fd < 0 ? attach->exit_fd : attach->exec_fd < 0 ? attach->exec_fd : 0;
	if (!result)
		return 0;
	struct strbuf why = {0};
	privs_explain(attach->object.form->tier, result, &why);
	err_set(err, result, REASON_KERNEL_UNSUPPORTED,
		"cannot follow thread ends (sched_process_exit, sched_process_exec): %s",
		strbuf_text(&why));
	strbuf_fini(&why);
	return result;
}

static int load(struct attach *attach, const struct object_form *form, struct err *err)
{
	const struct spec_limits *limits = &attach->options.limits;
	struct object_sizes sizes = sizes_for(limits);
	int result = object_open(&attach->object, form, &sizes, err);

	if (result)
		return result;
	result = maps_open(&attach->object, limits->series + 1, &attach->maps, err);
	if (!result)
		result = feature_try(&attach->object, attach->maps, &attach->feature, err);
	if (!result)
		result = link_tracepoints(attach, err);
	if (result)
		unload(attach);
	return result;
}

/* All tiers failed: say what is in the way, and for each form what happened. */
static void explain_no_tier(const struct attach *attach, int error, const struct strbuf *tried,
			    struct err *err)
{
	struct strbuf why = {0};
	enum tier tier = attach->options.tier == TIER_AUTO ? TIER_MULTI : attach->options.tier;
	bool denied = error == -EPERM || error == -EACCES;

	privs_explain(tier, error, &why);
	err_set(err, error, denied ? REASON_PERMISSION : REASON_KERNEL_UNSUPPORTED,
		"no probe can be attached: %s (%s); see `uprobe_exporter doctor`",
		strbuf_text(&why), strbuf_text(tried));
	strbuf_fini(&why);
}

static int choose(struct attach *attach, struct err *err)
{
	struct strbuf tried = {0};
	int first_error = -ENOTSUP;

	for (const struct object_form *form = object_forms; form->name; form++) {
		struct err why;
		if (attach->options.tier != TIER_AUTO && attach->options.tier != form->tier)
			continue;
		int result = load(attach, form, &why);
		if (!result) {
			strbuf_fini(&tried);
			return 0;
		}
		log_debug("tier does not work here", LOG_STR("form", form->name),
			  LOG_STR("error", why.msg));
		if (!tried.length || result == -EPERM || result == -EACCES)
			first_error = result;
		strbuf_printf(&tried, "%s%s: %s", tried.length ? "; " : "", form->name, why.msg);
	}
	explain_no_tier(attach, first_error, &tried, err);
	strbuf_fini(&tried);
	return first_error;
}

int attach_open(const struct attach_options *options, struct attach **out, struct err *err)
{
	struct attach *attach = alloc_zero(1, sizeof(*attach));

	attach->options = *options;
	attach->exit_fd = attach->exec_fd = -1;
	attach->nofile = privs_raise_nofile();
	int result = choose(attach, err);
	if (result) {
		free(attach);
		return result;
	}
	*out = attach;
	return 0;
}

enum tier attach_tier(const struct attach *attach)
{
	return attach->object.form->tier;
}

bool attach_pid_filter_covers_threads(const struct attach *attach)
{
	return attach->feature.pid_filter;
}

uint64_t attach_memory_bytes(const struct attach *attach, uint64_t *at_most)
{
	return maps_memory_bytes(attach->maps, at_most);
}

/* ---- attaching a plan --------------------------------------------------------------------------- */

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
		strbuf_printf(&why, "the kernel cannot probe the instruction there (error %d)", -error);
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
	uint32_t flags = probe->strategy == STRATEGY_NONE ? UP_PROBE_COUNT_ONLY : 0;
	struct err err;

	if (result->series >= 0)
		return true;
	int series = maps_add_series(attach->maps, probe->function->buckets, flags, &err);
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
	       "the perf tier takes %d functions: each takes about a quarter of a second to detach, "
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

/* Drop the refused sites from the group; returns how many are left. */
static void keep_good(struct attach *attach, struct group *group, const int *errors,
		      struct attach_result *results)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->n; i++) {
		if (errors[i]) {
			refuse_for(attach, errors[i], &results[group->probes[i]]);
			continue;
		}
		group->probes[kept] = group->probes[i];
		group->offsets[kept] = group->offsets[i];
		group->cookies[kept] = group->cookies[i];
		kept++;
	}
	group->n = kept;
}

static struct link_sites group_sites(const struct attach *attach, const struct group *group,
				     const char *path)
{
	return (struct link_sites){
		.path = path,
		.offsets = group->offsets,
		.cookies = group->cookies,
		.n = group->n,
		.pid = attach->feature.pid_filter ? group->pid : 0,
	};
}

/* Link what can be linked; 0, or the error that holds for all that is left. */
static int link_group(struct attach *attach, struct group *group, const char *path,
		      struct linkset *links, struct attach_result *results)
{
	int result = -EINVAL;

	/* Twice at most: once with all, once without those found to be refused. */
	for (int round = 0; round < 3 && group->n; round++) {
		struct link_sites sites = group_sites(attach, group, path);
		result = linkset_open(links, &attach->object, &sites, group->with_return);
		if (!linkset_error_is_of_site(result))
			return result;
		_cleanup_free_ int *errors = alloc_zero(group->n, sizeof(*errors));
		unsigned tries = linkset_find_refused(&attach->object, &sites, group->with_return,
						      errors);
		log_debug("the kernel refuses some sites", LOG_STR("file", group->file->path),
			  LOG_INT("tries", tries));
		keep_good(attach, group, errors, results);
	}
	return result;
}

static void enable_group(struct attach *attach, const struct group *group,
			 const struct linkset *links, struct attach_result *results)
{
	uint32_t tgid = attach->feature.pid_filter ? 0 : (uint32_t)group->pid;
	struct open_group *open = vec_push(&attach->groups);

	open->pid = group->pid;
	open->links = *links;
	open->series = alloc_zero(group->n, sizeof(int));
	open->n_series = group->n;
	for (size_t i = 0; i < group->n; i++) {
		struct attach_result *result = &results[group->probes[i]];
		open->series[i] = result->series;
		maps_enable(attach->maps, result->series, tgid);
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

static void attach_group(struct attach *attach, struct group *group,
			 struct attach_result *results)
{
	char path[64];
	size_t text_size;
	struct linkset links;

	if (group->pid && !attach->feature.pid_filter && !in_initial_pid_namespace()) {
		for (size_t i = 0; i < group->n; i++)
			refuse(&results[group->probes[i]], REASON_KERNEL_UNSUPPORTED,
			       "this kernel's pid filter misses threads (mended in 6.10), and the "
			       "exporter runs in a pid namespace of its own: run it with the host's");
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", group->file->fd);
	void *text = group->pid ? NULL : map_for_inspection(group->file, &text_size);
	int result = link_group(attach, group, path, &links, results);
	if (text)
		munmap(text, text_size);
	for (size_t i = 0; result && i < group->n; i++)
		refuse_for(attach, result, &results[group->probes[i]]);
	if (!result && group->n)
		enable_group(attach, group, &links, results);
}

/* FNV-1a over the site's identity. That two sites share a number is rare and does no harm. */
static uint32_t site_number(const struct plan_probe *probe)
{
	uint64_t words[] = {probe->file->dev, probe->file->ino, probe->entry_offset};
	const unsigned char *bytes = (const unsigned char *)words;
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ bytes[i]) * 16777619U;
	return hash;
}

static bool can_attach(struct attach *attach, const struct plan_probe *probe,
		       struct attach_result *result)
{
	if (result->attached)
		return false; /* by an earlier plan */
	result->reason = probe->reason;
	result->detail[0] = '\0';
	return probe->reason == REASON_NONE && !probe->shared_with &&
	       perf_has_room(attach, result) && ensure_series(attach, probe, result);
}

void attach_plan(struct attach *attach, const struct plan *plan, struct attach_result *results)
{
	struct group_list groups = {0};

	for (size_t i = 0; i < plan->n_probes; i++) {
		if (!can_attach(attach, &plan->probes[i], &results[i]))
			continue;
		maps_set_site(attach->maps, results[i].series, site_number(&plan->probes[i]));
		group_add(&groups, &plan->probes[i], i, results[i].series);
	}
	for (size_t i = 0; i < groups.n; i++)
		attach_group(attach, &groups.at[i], results);
	group_list_fini(&groups);
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (probe->reason == REASON_NONE && probe->shared_with && !results[i].attached)
			results[i] = results[probe->shared_with - plan->probes];
	}
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void close_group(struct attach *attach, struct open_group *open)
{
	linkset_close_entries(&open->links);
	for (size_t i = 0; i < open->n_series; i++)
		maps_disable(attach->maps, open->series[i]);
	linkset_close(&open->links);
	free(open->series);
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

void attach_read(const struct attach *attach, int series, struct reading *reading)
{
	maps_read(attach->maps, series, reading);
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	for (size_t i = 0; i < attach->groups.n; i++)
		close_group(attach, &attach->groups.at[i]);
	vec_fini(&attach->groups);
	unload(attach);
	free(attach);
}
