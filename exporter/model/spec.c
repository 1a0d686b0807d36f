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
