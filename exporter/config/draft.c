/* Defaults, and the way from a draft to a spec. */
#include "config/draft.h"

#include <string.h>

#define US (uint64_t)1000
#define MS (1000 * US)
#define S  (1000 * MS)

/* 1us … 10s in steps of 1, 2.5, 5 (design section 2). */
static const uint64_t default_bounds_ns[] = {
	1 * US,	  2500,	    5 * US,    10 * US,	  25 * US, 50 * US, 100 * US, 250 * US,
	500 * US, 1 * MS,   2500 * US, 5 * MS,	  10 * MS, 25 * MS, 50 * MS,  100 * MS,
	250 * MS, 500 * MS, 1 * S,     2500 * MS, 5 * S,   10 * S,
};

void draft_init(struct draft *draft, const char *name)
{
	memset(draft, 0, sizeof(*draft));
	draft->spec = alloc_zero(1, sizeof(*draft->spec));
	arena_init(&draft->spec->arena);
	draft->spec->file = arena_strdup(&draft->spec->arena, name);
	draft->spec->limits = (struct spec_limits){
		.series = SPEC_DEFAULT_SERIES,
		.in_flight = SPEC_DEFAULT_IN_FLIGHT,
		.shards = SPEC_DEFAULT_SHARDS,
		.host_programs = SPEC_DEFAULT_HOST_PROGRAMS,
		.label_sets = SPEC_DEFAULT_LABEL_SETS,
		.labels_keep_ns = SPEC_DEFAULT_LABELS_KEEP_NS,
	};
	draft->exit = EXIT_AUTO;
	draft->buckets.bound_ns = default_bounds_ns;
	draft->buckets.n = sizeof(default_bounds_ns) / sizeof(default_bounds_ns[0]);
}

void draft_fini(struct draft *draft)
{
	for (size_t i = 0; i < draft->targets.n; i++)
		vec_fini(&draft->targets.at[i].functions);
	vec_fini(&draft->targets);
	spec_free(draft->spec);
	draft->spec = NULL;
}

void draft_apply_defaults(struct draft *draft)
{
	for (size_t t = 0; t < draft->targets.n; t++) {
		struct draft_target *target = &draft->targets.at[t];
		for (size_t f = 0; f < target->functions.n; f++) {
			struct draft_function *function = &target->functions.at[f];
			if (!function->exit_set)
				function->spec.exit = draft->exit;
			if (!function->buckets_set)
				function->spec.buckets = draft->buckets;
		}
	}
}

static const struct spec_function *take_functions(struct arena *arena,
						  const struct draft_target *target)
{
	struct spec_function *functions =
		arena_array(arena, target->functions.n, sizeof(*functions));

	for (size_t i = 0; i < target->functions.n; i++)
		functions[i] = target->functions.at[i].spec;
	return functions;
}

struct spec *draft_take_spec(struct draft *draft)
{
	struct spec *spec = draft->spec;
	struct spec_target *targets = arena_array(&spec->arena, draft->targets.n, sizeof(*targets));

	for (size_t i = 0; i < draft->targets.n; i++) {
		targets[i] = draft->targets.at[i].spec;
		targets[i].n_functions = draft->targets.at[i].functions.n;
		targets[i].functions = take_functions(&spec->arena, &draft->targets.at[i]);
	}
	spec->targets = targets;
	spec->n_targets = draft->targets.n;
	draft->spec = NULL;
	return spec;
}
