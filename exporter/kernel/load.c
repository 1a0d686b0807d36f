/* Loading the programs: what is tried, and what is said when nothing works. */
#include "kernel/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "kernel/lacks.h"
#include "kernel/link.h"
#include "kernel/privs.h"
#include "kernel/refuse.h"
#include "model/floor.h"

/* Series of the self-test and of the floor. */
enum { OWN_SERIES = 1 + PROBE_FLOORS_MOST };

/*
 * Room for probes on exits: functions have three on average, and few have very many. During an
 * upgrade the old file's probes and the new one's are there at once.
 */
enum { EXITS_PER_SERIES = 16 };

/* Several groups may share a series: containers of one pod, where only the pod is told. */
enum { GROUPS_PER_SERIES = 4 };

static struct object_sizes sizes_for(const struct spec_limits *limits)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t shards =
		cpus > 0 && (uint32_t)cpus < limits->shards ? (uint32_t)cpus : limits->shards;

	return (struct object_sizes){
		/* A series with many bounds takes two slots. */
		.chunks = 2 * (limits->series + OWN_SERIES) / UP_CHUNK_SLOTS + 1,
		.shards = shards ? shards : 1,
		.probes = (1 + EXITS_PER_SERIES) * (limits->series + OWN_SERIES),
		.calls = limits->in_flight,
		.grouped = GROUPS_PER_SERIES * limits->series,
	};
}

void load_close(struct loaded *loaded)
{
	for (size_t i = 0; i < LOAD_HOOKS; i++) {
		if (loaded->hook_fds[i] >= 0)
			close(loaded->hook_fds[i]);
		loaded->hook_fds[i] = -1;
	}
	select_fini(&loaded->select);
	maps_close(loaded->maps);
	loaded->maps = NULL;
	object_close(&loaded->object);
}

static int link_tracepoints(struct loaded *loaded, struct err *err)
{
	const int programs[LOAD_HOOKS] = {
		loaded->object.prog_thread_exit, loaded->object.prog_thread_exec,
		loaded->object.prog_thread_fork, loaded->object.prog_cgroup_moved};
	int result = 0;

	for (size_t i = 0; i < LOAD_HOOKS && result >= 0; i++)
		loaded->hook_fds[i] = result = link_tracepoint(programs[i]);
	if (result >= 0)
		return 0;
	struct strbuf why = {0};
	privs_explain(loaded->object.form->tier, result, &why);
	err_set(err, result, REASON_KERNEL_UNSUPPORTED,
		"cannot follow processes (tracepoints sched_process_exit, sched_process_exec, "
		"sched_process_fork, cgroup_attach_task): %s",
		strbuf_text(&why));
	strbuf_fini(&why);
	return result;
}

static int try_form(const struct attach_options *options, const struct object_form *form,
		    struct loaded *loaded, struct err *err)
{
	const struct spec_limits *limits = &options->limits;
	struct object_sizes sizes = sizes_for(limits);
	int result = object_open(&loaded->object, form, &sizes, err);

	if (result)
		return result;
	result = maps_open(&loaded->object, limits->series + OWN_SERIES, &loaded->maps, err);
	if (!result)
		result = feature_try(&loaded->object, loaded->maps, &loaded->feature, err);
	if (!result)
		result = link_tracepoints(loaded, err);
	if (!result)
		result = select_init(&loaded->select, &loaded->object, err);
	if (result)
		load_close(loaded);
	return result;
}

/* All tiers failed: say what is in the way, and for each form what happened. */
static void explain_no_tier(enum tier wanted, int error, const struct strbuf *tried,
			    struct err *err)
{
	struct strbuf why = {0};
	enum tier tier = wanted == TIER_AUTO ? TIER_MULTI : wanted;
	enum reason reason = refuse_load_reason(error);

	if (lacks_explain(wanted, &why))
		reason = REASON_KERNEL_UNSUPPORTED; /* the verifier says EACCES to what is new */
	else
		privs_explain(tier, error, &why);
	err_set(err, error, reason,
		"no probe can be attached: %s (%s); see `uprobe_exporter doctor`",
		strbuf_text(&why), strbuf_text(tried));
	strbuf_fini(&why);
}

int load_open(const struct attach_options *options, struct loaded *loaded, struct err *err)
{
	struct strbuf tried = {0};
	int first_error = -ENOTSUP;

	*loaded = (struct loaded){.hook_fds = {-1, -1, -1, -1}};
	for (const struct object_form *form = object_forms; form->name; form++) {
		struct err why;
		if (options->tier != TIER_AUTO && options->tier != form->tier)
			continue;
		int result = try_form(options, form, loaded, &why);
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
	explain_no_tier(options->tier, first_error, &tried, err);
	strbuf_fini(&tried);
	return first_error;
}
