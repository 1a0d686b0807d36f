/* What the tests of target/ share: the victims, and a plan for one file. */
#ifndef TESTS_TARGET_COMMON_H
#define TESTS_TARGET_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/plan.h"
#include "model/spec.h"
#include "target/resolve.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))
#define ELF_DIR	   "build/victims/elf/"

/* Build the odd ELF files, once for all test programs. A group setup. */
static inline int build_victims(void **state)
{
	(void)state;
	return system("tests/victims/elf/build.sh build/victims/elf >&2");
}

static const uint64_t some_bounds[] = {1000, 1000000};

static inline struct spec_function function_of(const char *symbol, enum exit_mode exit)
{
	return (struct spec_function){
		.symbol = symbol, .label = symbol, .exit = exit, .buckets = {some_bounds, 2}};
}

/* A spec of one target with one function; `inner` holds its parts. */
struct one {
	struct spec spec;
	struct spec_target target;
	struct spec_function function;
	struct plan *plan;
	const struct plan_probe *probe;
};

/* The plan for one function. Release with one_free. */
static inline void one_resolve(struct one *one, const char *path, const char *symbol,
			       enum exit_mode exit, pid_t pid, enum host_cost host_cost)
{
	memset(one, 0, sizeof(*one));
	one->function = function_of(symbol, exit);
	one->target = (struct spec_target){.name = "t",
					   .binary = path,
					   .pid = pid,
					   .host_cost = host_cost,
					   .functions = &one->function,
					   .n_functions = 1};
	one->spec.limits.host_programs = SPEC_DEFAULT_HOST_PROGRAMS;
	one->spec.targets = &one->target;
	one->spec.n_targets = 1;
	one->plan = resolve_plan(&one->spec, NULL);
	assert_int_equal(one->plan->n_probes, 1);
	one->probe = &one->plan->probes[0];
}

static inline void one_free(struct one *one)
{
	plan_free(one->plan);
}

/* Resolve with `exit: none`, expect `reason`, and each of `texts` (up to NULL) in the detail. */
static inline void expect_reason(const char *path, const char *symbol, enum exit_mode exit,
				 enum reason reason, const char *const *texts)
{
	struct one one;

	one_resolve(&one, path, symbol, exit, 0, HOST_COST_ALLOW);
	if (one.probe->reason != reason)
		fail_msg("%s of %s: %s, not %s (%s)", symbol, path, reason_name(one.probe->reason),
			 reason_name(reason), one.probe->detail);
	for (; texts && *texts; texts++)
		if (!strstr(one.probe->detail, *texts))
			fail_msg("%s of %s: \"%s\" is not in: %s", symbol, path, *texts,
				 one.probe->detail);
	one_free(&one);
}

#define EXPECT(path, symbol, exit, reason, ...)                                                    \
	expect_reason(path, symbol, exit, reason,                                                  \
		      (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

#endif
