/* The validated config. */
#include "model/spec.h"

#include <stdlib.h>
#include <string.h>

static const char *const exit_mode_names[] = {
	[EXIT_AUTO] = "auto",
	[EXIT_URETPROBE] = "uretprobe",
	[EXIT_RETURN_SITES] = "return-sites",
	[EXIT_NONE] = "none",
};

static const char *const process_label_names[SPEC_PROCESS_LABELS] = {
	[SPEC_LABEL_CONTAINER] = "container",
	[SPEC_LABEL_NAMESPACE] = "namespace",
	[SPEC_LABEL_POD] = "pod",
	[SPEC_LABEL_POD_UID] = "pod_uid",
};

const char *spec_process_label_name(enum spec_process_label label)
{
	return process_label_names[label];
}

bool buckets_equal(const struct buckets *a, const struct buckets *b)
{
	return a->n == b->n && (!a->n || a->bound_ns == b->bound_ns ||
				!memcmp(a->bound_ns, b->bound_ns, a->n * sizeof(*a->bound_ns)));
}

bool spec_process_is_set(const struct spec_process *process)
{
	return process->pid || process->pidfile || process->exe || process->comm ||
	       process->cmdline || process->user || process->cgroup || process->container ||
	       process->pod || process->namespace;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_usdt(const struct spec_usdt *a, const struct spec_usdt *b)
{
	return same_text(a->provider, b->provider) && same_text(a->name, b->name);
}

bool spec_same_function(const struct spec_function *a, const struct spec_function *b)
{
	return a->by == b->by && same_text(a->symbol, b->symbol) && a->position == b->position &&
	       a->max == b->max && same_usdt(&a->start, &b->start) && same_usdt(&a->end, &b->end) &&
	       a->key.start_argument == b->key.start_argument &&
	       a->key.end_argument == b->key.end_argument && same_text(a->label, b->label) &&
	       a->exit == b->exit && buckets_equal(&a->buckets, &b->buckets);
}

bool spec_same_process(const struct spec_process *a, const struct spec_process *b)
{
	return a->pid == b->pid && same_text(a->pidfile, b->pidfile) && same_text(a->exe, b->exe) &&
	       same_text(a->comm, b->comm) && same_text(a->cmdline, b->cmdline) &&
	       same_text(a->user, b->user) && a->uid == b->uid && same_text(a->cgroup, b->cgroup) &&
	       same_text(a->container, b->container) && same_text(a->pod, b->pod) &&
	       same_text(a->namespace, b->namespace) && a->children == b->children;
}

bool spec_is_pid_only(const struct spec_target *target)
{
	struct spec_process others = target->process;

	others.pid = 0;
	return target->pid && !spec_process_is_set(&others) && !others.children;
}

bool spec_same_target(const struct spec_target *a, const struct spec_target *b)
{
	return same_text(a->name, b->name) && same_text(a->binary, b->binary) && a->pid == b->pid &&
	       a->labels_from == b->labels_from && spec_same_process(&a->process, &b->process);
}

bool spec_is_usdt(const struct spec_function *function)
{
	return function->by == BY_USDT || function->by == BY_PAIR;
}

const char *exit_mode_name(enum exit_mode mode)
{
	return exit_mode_names[mode];
}

void spec_free(struct spec *spec)
{
	if (!spec)
		return;
	arena_fini(&spec->arena);
	free(spec);
}
