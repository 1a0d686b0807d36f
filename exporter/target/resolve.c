/*
 * From spec to plan: open each target's file once, inspect it for all of its functions together,
 * see who maps it, then decide for each function whether and how it is probed.
 */
#include "target/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "target/cost.h"
#include "target/file.h"
#include "target/inspect.h"
#include "target/proc.h"

/* Work on one plan_file: the probes that go into it. */
struct job {
	struct plan_file *file;
	struct inspect_facts facts;
	VEC(struct plan_probe *) probes;
	struct inspect_wanted *wanted; /* one for each of `probes`; owned */
};

struct resolution {
	struct plan *plan;
	struct job *jobs; /* one for each of plan->files */
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

/* ---- files -------------------------------------------------------------------------------------
 */

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
	new->build_id = "";
	resolution->jobs[plan->n_files].file = new;
	return &resolution->jobs[plan->n_files++];
}

static void open_target(struct resolution *resolution, const struct spec_target *target,
			struct plan_probe *probes)
{
	struct arena *arena = &resolution->plan->arena;
	struct err file_err = {0}, pid_err = {0};
	struct file file;

	if (file_open(&file, target->binary, arena, &file_err)) {
		const char *detail = arena_strdup(arena, file_err.msg);
		for (size_t i = 0; i < target->n_functions; i++)
			refuse(&probes[i], file_err.reason, detail);
		return;
	}
	struct job *job = job_for(resolution, &file);
	bool no_process = target->pid && proc_check(target->pid, &pid_err);
	const char *detail = no_process ? arena_strdup(arena, pid_err.msg) : NULL;
	for (size_t i = 0; i < target->n_functions; i++) {
		probes[i].file = job->file;
		*vec_push(&job->probes) = &probes[i];
		if (no_process)
			refuse(&probes[i], pid_err.reason, detail);
	}
}

/* ---- decisions on one probe
 * ---------------------------------------------------------------------- */

/* Who else pays for it: false when it is refused. */
static bool decide_cost(struct plan *plan, const struct job *job, struct plan_probe *probe)
{
	const struct spec_target *target = probe->target;

	if (target->pid) {
		if (!proc_maps(target->pid, job->file->dev, job->file->ino, job->file->path))
			warn(plan, probe,
			     arena_printf(&plan->arena, "process %d does not map the file now",
					  (int)target->pid));
		return true;
	}
	const char *cost = cost_of_host(job->file, job->facts.is_library, job->facts.soname,
					plan->spec->limits.host_programs, &plan->arena);
	if (!cost)
		return true;
	if (target->host_cost == HOST_COST_ALLOW) {
		warn(plan, probe, cost);
		return true;
	}
	refuse(probe, REASON_HOST_COST, arena_printf(&plan->arena, "%s: %s", cost, cost_ways_out));
	return false;
}

static const char go_refusal[] = "the file holds Go code, whose stacks move: a return probe would "
				 "crash it. Count calls only "
				 "(exit: none)";

static const char go_warning[] =
	"a Go function that has to grow its stack begins again: that call is counted twice";

static void decide_uretprobe(struct plan *plan, const struct job *job, struct plan_probe *probe)
{
	const struct inspect_facts *facts = &job->facts;

	probe->strategy = STRATEGY_URETPROBE;
	if (facts->return_is_safe) {
		probe->detail = facts->evidence;
	} else if (probe->function->exit == EXIT_URETPROBE) {
		probe->detail = "asked for by name";
		warn(plan, probe,
		     arena_printf(
			     &plan->arena,
			     "the return probe is used because the config asks for it; nothing "
			     "shows that it is harmless: %s",
			     facts->evidence));
	} else {
		refuse(probe, REASON_UNSAFE_RETURN,
		       arena_printf(&plan->arena,
				    "nothing shows that a return probe is harmless here: %s. Count "
				    "calls only (exit: none), or take the risk by name (exit: "
				    "uretprobe)",
				    facts->evidence));
	}
}

static void decide_exit(struct plan *plan, const struct job *job, struct plan_probe *probe)
{
	probe->strategy = STRATEGY_NONE;
	if (job->facts.is_go)
		warn(plan, probe, go_warning);
	switch (probe->function->exit) {
	case EXIT_NONE:
		probe->detail = "calls are counted, their ends are not watched";
		break;
	case EXIT_RETURN_SITES:
		refuse(probe, REASON_UNSAFE_RETURN,
		       "exit: return-sites is not supported yet: use none, auto or uretprobe");
		break;
	case EXIT_AUTO:
	case EXIT_URETPROBE:
		decide_uretprobe(plan, job, probe);
		break;
	}
}

static void decide(struct plan *plan, const struct job *job, const struct inspect_wanted *wanted,
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
		refuse(probe, wanted->reason, wanted->detail);
		return;
	}
	warn(plan, probe, wanted->warning);
	if (decide_cost(plan, job, probe))
		decide_exit(plan, job, probe);
}

static void inspect(struct plan *plan, struct job *job)
{
	job->wanted = alloc_zero(job->probes.n, sizeof(*job->wanted));
	for (size_t i = 0; i < job->probes.n; i++)
		job->wanted[i].text = job->probes.at[i]->function->symbol;
	inspect_file(job->file, job->wanted, job->probes.n, &plan->arena, &job->facts);
}

static bool found_any(const struct job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < jobs[i].probes.n; j++)
			if (!jobs[i].probes.at[j]->reason && !jobs[i].wanted[j].reason)
				return true;
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

/* ---- probes at one place
 * --------------------------------------------------------------------------- */

static bool same_buckets(const struct buckets *a, const struct buckets *b)
{
	return a->n == b->n && memcmp(a->bound_ns, b->bound_ns, a->n * sizeof(*a->bound_ns)) == 0;
}

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

static bool same_settings(const struct plan_probe *a, const struct plan_probe *b)
{
	return a->strategy == b->strategy &&
	       (a->strategy == STRATEGY_NONE ||
		same_buckets(&a->function->buckets, &b->function->buckets));
}

/* `group` holds the `n` earlier probes of this place: one measurement serves equal settings. */
static void share(struct plan *plan, struct plan_probe *probe, struct plan_probe *const *group,
		  size_t n)
{
	const struct plan_probe *earlier = group[0];

	for (size_t i = 0; i < n && !probe->shared_with; i++)
		if (!group[i]->shared_with && same_settings(probe, group[i]))
			earlier = probe->shared_with = group[i];
	warn(plan, probe,
	     arena_printf(
		     &plan->arena,
		     "%s of target %s is the same code (an alias, folded by the linker, or named "
		     "twice): both series show the calls of either%s",
		     earlier->label, earlier->target->name,
		     probe->shared_with ? ""
					: ", and with other settings each call is measured twice"));
}

/* Among the probes of one file, find those at one place for one process filter. */
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

static void plan_probes(struct plan *plan, const struct spec_target *only)
{
	const struct spec *spec = plan->spec;
	size_t n = 0;

	for (size_t i = 0; i < spec->n_targets; i++)
		if (!only || only == &spec->targets[i])
			n += spec->targets[i].n_functions;
	plan->probes = arena_array(&plan->arena, n, sizeof(*plan->probes));
	for (size_t i = 0; i < spec->n_targets; i++) {
		const struct spec_target *target = &spec->targets[i];
		if (only && only != target)
			continue;
		for (size_t j = 0; j < target->n_functions; j++) {
			struct plan_probe *probe = &plan->probes[plan->n_probes++];
			probe->target = target;
			probe->function = &target->functions[j];
			probe->label = probe->function->label;
			probe->detail = "";
		}
	}
}

struct plan *resolve_plan(const struct spec *spec, const struct spec_target *only)
{
	struct plan *plan = alloc_zero(1, sizeof(*plan));
	_cleanup_free_ struct job *jobs = alloc_zero(spec->n_targets, sizeof(*jobs));
	struct resolution resolution = {.plan = plan, .jobs = jobs};

	plan->spec = spec;
	arena_init(&plan->arena);
	plan->files = arena_array(&plan->arena, spec->n_targets, sizeof(*plan->files));
	plan_probes(plan, only);
	for (size_t i = 0; i < plan->n_probes; i += plan->probes[i].target->n_functions)
		open_target(&resolution, plan->probes[i].target, &plan->probes[i]);
	for (size_t i = 0; i < plan->n_files; i++)
		inspect(plan, &jobs[i]);
	if (!only || found_any(jobs, plan->n_files)) /* not for each vain retry */
		count_mappings(plan);
	for (size_t i = 0; i < plan->n_files; i++) {
		for (size_t j = 0; j < jobs[i].probes.n; j++)
			decide(plan, &jobs[i], &jobs[i].wanted[j], jobs[i].probes.at[j]);
		share_within(plan, &jobs[i]);
		vec_fini(&jobs[i].probes);
		free(jobs[i].wanted);
	}
	return plan;
}
