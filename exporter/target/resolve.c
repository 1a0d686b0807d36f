/*
 * From spec to plan: open each target's file once, expand patterns and places, inspect the file for
 * all of its functions together, see who maps it, then decide for each function whether and how it
 * is probed.
 */
#include "target/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "target/cost.h"
#include "target/expand.h"
#include "target/file.h"
#include "target/inspect.h"
#include "target/merge.h"
#include "target/proc.h"
#include "target/runtime.h"
#include "target/usdt.h"

/* Perf maps are long, and one that is asked for many names will do. */
#define MOST_GENERATED 64

/* The last answer about a process: the functions of a target ask one after another. */
struct asked {
	pid_t pid;
	const char *answer;
};

/* A configured function on its way to its probes. */
struct wish {
	struct expansion expansion;
	struct job *job;    /* NULL: its file was not opened */
	enum reason reason; /* why none of its functions can be probed; REASON_NONE */
	const char *detail;
};

/* Work on one plan_file: the functions that are wanted from it, and the probes that go into it. */
struct job {
	struct plan_file *file;
	struct inspect_facts facts;
	VEC(struct expansion *) expansions;
	struct inspect_wanted *wanted; /* of all expansions, one after another; owned */
	VEC(struct plan_probe *) probes;
	struct usdt_file usdt;
	const char *cost; /* to the host, when it is too much; NULL */
	bool costed;
	struct asked unmapped;
	unsigned n_generated; /* names that a process was asked for */
};

struct resolution {
	struct plan *plan;
	struct job *jobs;    /* one for each of plan->files */
	struct wish *wishes; /* n_wishes, in the order of the spec */
	size_t n_wishes;
	int root_fd; /* where paths begin; -1: at our own root */
};

static void refuse(struct plan_probe *probe, enum reason reason, const char *detail)
{
	probe->reason = reason;
	probe->detail = detail;
}

static void warn(struct plan *plan, struct plan_probe *probe, const char *text)
{
	if (!text)
		return;
	probe->warning =
		probe->warning ? arena_printf(&plan->arena, "%s; %s", probe->warning, text) : text;
}

/* ---- files ---- */

static struct job *job_for(struct resolution *resolution, const struct file *file)
{
	struct plan *plan = resolution->plan;

	for (size_t i = 0; i < plan->n_files; i++)
		if (plan->files[i].dev == file->dev && plan->files[i].ino == file->ino) {
			alloc_close_fd(&file->fd);
			return &resolution->jobs[i];
		}
	struct plan_file *new = &plan->files[plan->n_files];
	new->path = file->path;
	new->fd = file->fd;
	new->dev = file->dev;
	new->ino = file->ino;
	new->size = file->size;
	new->modified = file->modified;
	new->changed = file->changed;
	new->build_id = "";
	resolution->jobs[plan->n_files].file = new;
	return &resolution->jobs[plan->n_files++];
}

/* The wishes of one target: it has them one after another. */
static void open_target(struct resolution *resolution, const struct spec_target *target,
			struct wish *wishes)
{
	struct arena *arena = &resolution->plan->arena;
	struct err why = {0};
	struct job *job = NULL;
	struct file file;

	int failed = resolution->root_fd < 0 ? file_open(&file, target->binary, arena, &why)
					     : file_open_in(&file, resolution->root_fd,
							    target->binary, arena, &why);
	if (!failed) {
		job = job_for(resolution, &file);
		if (target->pid)
			proc_check(target->pid, &why);
	}
	const char *detail = why.reason ? arena_strdup(arena, why.msg) : NULL;
	for (size_t i = 0; i < target->n_functions; i++) {
		wishes[i].job = job;
		wishes[i].reason = why.reason;
		wishes[i].detail = detail;
		if (job && !spec_is_usdt(&target->functions[i]))
			*vec_push(&job->expansions) = &wishes[i].expansion;
	}
}

static void make_wishes(struct resolution *resolution, const struct spec_target *only)
{
	const struct spec *spec = resolution->plan->spec;
	size_t n = 0;

	for (size_t i = 0; i < spec->n_targets; i++)
		if (!only || only == &spec->targets[i])
			n += spec->targets[i].n_functions;
	resolution->wishes = alloc_zero(n, sizeof(*resolution->wishes));
	for (size_t i = 0; i < spec->n_targets; i++) {
		const struct spec_target *target = &spec->targets[i];
		struct wish *wishes = &resolution->wishes[resolution->n_wishes];
		if (only && only != target)
			continue;
		for (size_t j = 0; j < target->n_functions; j++)
			wishes[j].expansion = (struct expansion){
				.target = target, .function = &target->functions[j], .n = 1};
		resolution->n_wishes += target->n_functions;
		open_target(resolution, target, wishes);
	}
}

/* ---- decisions on one probe ---- */

/* What to tell when the process that is asked for does not map the file; NULL when it does. */
static const char *unmapped_text(struct plan *plan, struct job *job, pid_t pid)
{
	const struct plan_file *file = job->file;

	if (job->unmapped.pid == pid)
		return job->unmapped.answer;
	job->unmapped = (struct asked){.pid = pid};
	if (!proc_maps(pid, file->dev, file->ino, file->path))
		job->unmapped.answer = arena_printf(
			&plan->arena, "process %d does not map the file now", (int)pid);
	return job->unmapped.answer;
}

/* Who else pays for it: false when it is refused. */
static bool decide_cost(struct plan *plan, struct job *job, struct plan_probe *probe)
{
	const struct spec_target *target = probe->target;

	if (target->pid) {
		warn(plan, probe, unmapped_text(plan, job, target->pid));
		return true;
	}
	if (!job->costed)
		job->cost = cost_of_host(job->file, job->facts.is_library, job->facts.soname,
					 plan->spec->limits.host_programs, &plan->arena);
	job->costed = true;
	if (!job->cost)
		return true;
	if (target->host_cost == HOST_COST_ALLOW) {
		warn(plan, probe, job->cost);
		return true;
	}
	probe->per_process = spec_process_is_set(&target->process);
	if (probe->per_process) /* no other pays */
		return true;
	refuse(probe, REASON_HOST_COST,
	       arena_printf(&plan->arena, "%s: %s", job->cost, cost_ways_out));
	return false;
}

static const char go_refusal[] = "the file holds Go code, whose stacks move: a return probe would "
				 "crash it. Count calls only "
				 "(exit: none)";

/* Take over what the code shows of the function. */
static void decide_exit(struct plan *plan, const struct judged *judged, struct plan_probe *probe)
{
	probe->entry_offset = judged->entry_offset;
	probe->entry_sp_adjust = judged->entry_sp_adjust;
	probe->entry_condition = judged->entry_condition;
	probe->entry = judged->entry;
	probe->strategy = judged->strategy;
	probe->sites = judged->sites;
	probe->n_sites = judged->n_sites;
	probe->detail = judged->detail;
	probe->reason = judged->reason;
	warn(plan, probe, judged->warning);
}

/* A name that the file does not have may be one that the process generates. */
static void refuse_wanted(struct plan *plan, struct job *job, const struct inspect_wanted *wanted,
			  struct plan_probe *probe)
{
	pid_t pid = probe->target->pid;
	const char *generated = NULL;

	if (wanted->reason == REASON_SYMBOL_NOT_FOUND && pid && !wanted->pattern &&
	    job->n_generated++ < MOST_GENERATED)
		generated = runtime_generates(pid, wanted->text, &plan->arena);
	if (generated)
		refuse(probe, REASON_GENERATED_CODE,
		       arena_printf(&plan->arena, "%s; %s", wanted->detail, generated));
	else
		refuse(probe, wanted->reason, wanted->detail);
}

static void decide(struct plan *plan, struct job *job, const struct inspect_wanted *wanted,
		   struct plan_probe *probe)
{
	probe->symbol = wanted->symbol;
	probe->symbol_offset = probe->entry_offset = wanted->offset;
	probe->size = wanted->size;
	if (probe->reason) /* the process it is for does not exist */
		return;
	if (job->facts.is_go && probe->function->exit != EXIT_NONE) {
		refuse(probe, REASON_GO_UNSUPPORTED, go_refusal);
		return;
	}
	if (wanted->reason) {
		refuse_wanted(plan, job, wanted, probe);
		return;
	}
	warn(plan, probe, wanted->warning);
	if (decide_cost(plan, job, probe))
		decide_exit(plan, &wanted->judged, probe);
}

static void decide_usdt(struct plan *plan, struct job *job, struct plan_probe *probe)
{
	if (probe->reason) /* the process it is for does not exist */
		return;
	if (job->facts.reason)
		refuse(probe, job->facts.reason, job->facts.detail);
	else if (decide_cost(plan, job, probe))
		usdt_resolve(&job->usdt, probe, &plan->arena);
}

/* Put what is wanted into one array, the way the file is inspected for it. */
static void gather_wanted(struct job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->expansions.n; i++)
		n += job->expansions.at[i]->n;
	job->wanted = alloc_zero(n, sizeof(*job->wanted));
	struct inspect_wanted *next = job->wanted;
	for (size_t i = 0; i < job->expansions.n; i++) {
		struct expansion *expansion = job->expansions.at[i];
		memcpy(next, expansion->wanted, expansion->n * sizeof(*next));
		expansion->wanted = next;
		next += expansion->n;
	}
}

static void inspect(struct plan *plan, struct job *job)
{
	struct asked switches = {0};
	size_t n = 0;

	expand_functions(job->file, job->expansions.at, job->expansions.n, &plan->arena);
	gather_wanted(job);
	for (size_t i = 0; i < job->expansions.n; i++) {
		const struct expansion *expansion = job->expansions.at[i];
		pid_t pid = expansion->target->pid;
		if (pid != switches.pid)
			switches = (struct asked){pid, runtime_switches(pid, &plan->arena)};
		for (size_t j = 0; j < expansion->n; j++) {
			expansion->wanted[j].judged.exit = expansion->function->exit;
			expansion->wanted[j].judged.switches = pid ? switches.answer : NULL;
		}
		n += expansion->n;
	}
	inspect_file(job->file, job->wanted, n, &plan->arena, &job->facts);
	for (size_t i = 0, end; i < job->expansions.n; i = end) {
		const struct spec_target *target = job->expansions.at[i]->target;
		for (end = i; end < job->expansions.n && job->expansions.at[end]->target == target;)
			end++;
		merge_target(&job->expansions.at[i], end - i, &plan->arena);
	}
}

static bool found_any(const struct resolution *resolution)
{
	for (size_t i = 0; i < resolution->n_wishes; i++) {
		const struct wish *wish = &resolution->wishes[i];
		if (wish->job && spec_is_usdt(wish->expansion.function))
			return true;
		for (size_t j = 0; wish->job && !wish->reason && j < wish->expansion.n; j++)
			if (!wish->expansion.wanted[j].reason)
				return true;
	}
	return false;
}

static void count_mappings(struct plan *plan)
{
	_cleanup_free_ struct proc_mapped *mapped = alloc_zero(plan->n_files, sizeof(*mapped));

	for (size_t i = 0; i < plan->n_files; i++) {
		mapped[i].dev = plan->files[i].dev;
		mapped[i].ino = plan->files[i].ino;
		mapped[i].path = plan->files[i].path;
	}
	proc_count(mapped, plan->n_files);
	for (size_t i = 0; i < plan->n_files; i++) {
		plan->files[i].mapping_processes = mapped[i].processes;
		plan->files[i].mapping_programs = mapped[i].programs;
	}
}

/* ---- probes at one place ---- */

static int by_place(const void *left, const void *right)
{
	const struct plan_probe *a = *(struct plan_probe *const *)left;
	const struct plan_probe *b = *(struct plan_probe *const *)right;

	if (a->entry_offset != b->entry_offset)
		return a->entry_offset < b->entry_offset ? -1 : 1;
	if (a->target->pid != b->target->pid)
		return a->target->pid < b->target->pid ? -1 : 1;
	return (a > b) - (a < b);
}

/* Of another path to the file another target may be made, while this one stays. */
static bool may_share(const struct plan_probe *a, const struct plan_probe *b)
{
	return strcmp(a->target->binary, b->target->binary) == 0 && a->strategy == b->strategy &&
	       (a->target == b->target || !(a->target->labels_from | b->target->labels_from)) &&
	       (a->strategy == STRATEGY_NONE ||
		buckets_equal(&a->function->buckets, &b->function->buckets));
}

/*
 * `group` holds the `n` earlier probes of this place: one measurement serves equal settings. One of
 * other processes has nothing to do with it.
 */
static void share(struct plan *plan, struct plan_probe *probe, struct plan_probe *const *group,
		  size_t n)
{
	const struct plan_probe *earlier = NULL;

	for (size_t i = 0; i < n && !probe->shared_with; i++) {
		if (!spec_same_process(&probe->target->process, &group[i]->target->process))
			continue;
		if (!earlier)
			earlier = group[i];
		if (!group[i]->shared_with && may_share(probe, group[i]))
			earlier = probe->shared_with = group[i];
	}
	if (!earlier)
		return;
	warn(plan, probe,
	     arena_printf(
		     &plan->arena,
		     "%s of target %s is the same code (an alias, folded by the linker, or named "
		     "twice): both series show the calls of either%s",
		     earlier->label, earlier->target->name,
		     probe->shared_with ? ""
					: ", and with other settings each call is measured twice"));
}

/* Among the probes of one file, find those at one place for the same processes. */
static void share_within(struct plan *plan, struct job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->probes.n; i++)
		if (!job->probes.at[i]->reason)
			job->probes.at[n++] = job->probes.at[i];
	if (n < 2)
		return;
	qsort(job->probes.at, n, sizeof(*job->probes.at), by_place);
	for (size_t first = 0, i = 1; i < n; i++) {
		struct plan_probe *probe = job->probes.at[i], *earlier = job->probes.at[first];
		if (probe->entry_offset == earlier->entry_offset &&
		    probe->target->pid == earlier->target->pid)
			share(plan, probe, &job->probes.at[first], i - first);
		else
			first = i;
	}
}

/* ---- the plan ---- */

static struct plan_probe *add_probe(struct plan *plan, const struct wish *wish)
{
	struct plan_probe *probe = &plan->probes[plan->n_probes++];

	probe->target = wish->expansion.target;
	probe->function = wish->expansion.function;
	probe->label = probe->function->label;
	probe->detail = "";
	if (wish->reason)
		refuse(probe, wish->reason, wish->detail);
	if (wish->job)
		probe->file = wish->job->file;
	return probe;
}

static void plan_function(struct plan *plan, const struct wish *wish)
{
	for (size_t i = 0; i < wish->expansion.n; i++) {
		const struct inspect_wanted *wanted = wish->job ? &wish->expansion.wanted[i] : NULL;
		struct plan_probe *probe = add_probe(plan, wish);
		if (!wanted)
			continue;
		if (wanted->label)
			probe->label = wanted->label;
		*vec_push(&wish->job->probes) = probe;
		decide(plan, wish->job, wanted, probe);
	}
}

static void plan_usdt(struct plan *plan, const struct wish *wish)
{
	struct plan_probe *probe = add_probe(plan, wish);

	if (wish->job)
		decide_usdt(plan, wish->job, probe);
}

static void plan_wishes(const struct resolution *resolution)
{
	struct plan *plan = resolution->plan;
	size_t n = 0;

	for (size_t i = 0; i < resolution->n_wishes; i++)
		n += resolution->wishes[i].expansion.n;
	plan->probes = arena_array(&plan->arena, n, sizeof(*plan->probes));
	for (size_t i = 0; i < resolution->n_wishes; i++)
		(spec_is_usdt(resolution->wishes[i].expansion.function)
			 ? plan_usdt
			 : plan_function)(plan, &resolution->wishes[i]);
}

static void job_fini(struct job *job)
{
	vec_fini(&job->expansions);
	vec_fini(&job->probes);
	free(job->wanted);
}

static struct plan *resolve(const struct spec *spec, const struct spec_target *only, int root_fd)
{
	struct plan *plan = alloc_zero(1, sizeof(*plan));
	_cleanup_free_ struct job *jobs = alloc_zero(spec->n_targets, sizeof(*jobs));
	struct resolution resolution = {.plan = plan, .jobs = jobs, .root_fd = root_fd};

	plan->spec = spec;
	arena_init(&plan->arena);
	plan->files = arena_array(&plan->arena, spec->n_targets, sizeof(*plan->files));
	make_wishes(&resolution, only);
	for (size_t i = 0; i < plan->n_files; i++)
		inspect(plan, &jobs[i]);
	if (!only || found_any(&resolution)) /* not for each vain retry */
		count_mappings(plan);
	plan_wishes(&resolution);
	for (size_t i = 0; i < plan->n_files; i++) {
		share_within(plan, &jobs[i]);
		job_fini(&jobs[i]);
	}
	free(resolution.wishes);
	return plan;
}

struct plan *resolve_plan(const struct spec *spec, const struct spec_target *only)
{
	return resolve(spec, only, -1);
}

struct plan *resolve_plan_in(const struct spec *spec, const struct spec_target *only, int root_fd)
{
	return resolve(spec, only, root_fd);
}
