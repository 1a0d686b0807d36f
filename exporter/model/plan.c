/* The resolved attach points. */
#include "model/plan.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const strategy_names[] = {
	[STRATEGY_NONE] = "none",
	[STRATEGY_URETPROBE] = "uretprobe",
	[STRATEGY_RETURN_SITES] = "return-sites",
	[STRATEGY_USDT] = "usdt",
};

const char *exit_strategy_name(enum exit_strategy strategy)
{
	return strategy_names[strategy];
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_files; i++)
		if (plan->files[i].fd >= 0)
			close(plan->files[i].fd);
	arena_fini(&plan->arena);
	free(plan);
}
