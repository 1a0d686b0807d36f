/* What the tests of patterns and places share: a plan for several functions of one file. */
#ifndef TESTS_TARGET_PATTERNS_H
#define TESTS_TARGET_PATTERNS_H

#include "common.h"

static inline struct spec_function match_of(const char *pattern, uint32_t max)
{
	struct spec_function function = function_of(pattern, EXIT_NONE);

	function.by = BY_MATCH;
	function.max = max;
	return function;
}

static inline struct spec_function place_of(enum function_by by, uint64_t position,
					    const char *name, enum exit_mode exit)
{
	struct spec_function function = function_of(name, exit);

	function.by = by;
	function.symbol = NULL;
	function.position = position;
	return function;
}

#define MOST_FUNCTIONS 16

struct many {
	struct spec spec;
	struct spec_target target;
	struct spec_function functions[MOST_FUNCTIONS];
	struct plan *plan;
};

/* The plan for functions of one file, on lines 1, 2, …; release with many_free. */
static inline void many_resolve(struct many *many, const char *path,
				const struct spec_function *functions, size_t n)
{
	memset(many, 0, sizeof(*many));
	for (size_t i = 0; i < n; i++) {
		many->functions[i] = functions[i];
		many->functions[i].line = (int)i + 1;
	}
	many->target = (struct spec_target){.name = "t",
					    .binary = path,
					    .host_cost = HOST_COST_ALLOW,
					    .functions = many->functions,
					    .n_functions = n};
	many->spec.limits.host_programs = SPEC_DEFAULT_HOST_PROGRAMS;
	many->spec.targets = &many->target;
	many->spec.n_targets = 1;
	many->plan = resolve_plan(&many->spec, NULL);
}
#define MANY(many, path, ...)                                                                      \
	many_resolve((many), (path), (const struct spec_function[]){__VA_ARGS__},                  \
		     N_ITEMS(((const struct spec_function[]){__VA_ARGS__})))

static inline void many_free(struct many *many)
{
	plan_free(many->plan);
}

static inline const struct plan_probe *find_probe(const struct many *many, const char *label)
{
	for (size_t i = 0; i < many->plan->n_probes; i++)
		if (strcmp(many->plan->probes[i].label, label) == 0)
			return &many->plan->probes[i];
	return NULL;
}

static inline const struct plan_probe *get_probe(const struct many *many, const char *label)
{
	const struct plan_probe *probe = find_probe(many, label);

	if (!probe)
		fail_msg("there is no probe %s of %s", label, many->target.binary);
	return probe;
}

/* The labels of all probes are these, in this order; the last one is NULL. */
static inline void expect_labels(const struct many *many, const char *const *labels)
{
	size_t i = 0;

	for (; i < many->plan->n_probes && labels[i]; i++)
		if (strcmp(many->plan->probes[i].label, labels[i]) != 0)
			fail_msg("probe %zu is %s, not %s", i, many->plan->probes[i].label,
				 labels[i]);
	if (labels[i] || i < many->plan->n_probes)
		fail_msg("%zu probes; next is %s", many->plan->n_probes,
			 labels[i] ? labels[i] : many->plan->probes[i].label);
}
#define LABELS(many, ...) expect_labels((many), (const char *const[]){__VA_ARGS__, NULL})

static inline void expect_text(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" is not in: %s", part, text ? text : "nothing");
}

#endif
