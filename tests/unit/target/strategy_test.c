/* Where probes go and how exits are seen, for a function of each kind. */
#include "common.h"

#include <inttypes.h>
#include <time.h>

#include "base/arena.h"
#include "base/vec.h"
#include "bpf/contract.h"
#include "target/list.h"

#define LIBRARY	    ELF_DIR "libstrategy.so"
#define CXX_LIBRARY ELF_DIR "libstrategycxx.so"
#define GO	    ELF_DIR "strategy.go"

static void resolve(struct one *one, const char *path, const char *symbol, enum exit_mode exit)
{
	one_resolve(one, path, symbol, exit, 0, HOST_COST_REFUSE);
}

static void has_text(const struct one *one, const char *text)
{
	if (!strstr(one->probe->detail, text))
		fail_msg("\"%s\" is not in: %s", text, one->probe->detail);
}

/* ---- how exits are seen ---- */

static const struct {
	const char *path, *symbol, *text;
	enum exit_strategy strategy; /* STRATEGY_NONE: refused */
	size_t n_sites;
} kinds[] = {
	{LIBRARY, "leaf", "it calls nothing", STRATEGY_URETPROBE, 0},
	{LIBRARY, "closed", "nothing that it calls leads out", STRATEGY_URETPROBE, 0},
	{LIBRARY, "recursive", "nothing that it calls leads out", STRATEGY_URETPROBE, 0},
	{LIBRARY, "copies", "nothing that it calls leads out", STRATEGY_URETPROBE, 0},
	{LIBRARY, "calls_import", "it calls puts of another file", STRATEGY_RETURN_SITES, 1},
	{LIBRARY, "calls_import_deeply", "it calls deep, which calls calls_import of another file",
	 STRATEGY_RETURN_SITES, 1},
	{LIBRARY, "calls_pointer", "it makes an indirect call", STRATEGY_RETURN_SITES, 1},
	{LIBRARY, "jumps_on", "left by its first instruction", STRATEGY_NONE, 0},
	{LIBRARY, "switches", "indirect call", STRATEGY_RETURN_SITES, 8},
	{LIBRARY, "never_returns", "it never returns", STRATEGY_RETURN_SITES, 0},
	{LIBRARY, "asks_who_called", "its own return address", STRATEGY_RETURN_SITES, 1},
	{LIBRARY, "jumps_to_one_who_asks", "its own return address", STRATEGY_NONE, 0},
	{LIBRARY, "pops_its_return", "its own return address", STRATEGY_RETURN_SITES, 1},
	{LIBRARY, "switches_stacks", "what is on the stack", STRATEGY_NONE, 0},
	{LIBRARY, "leaves_by_count", "not in the flags", STRATEGY_NONE, 0},
	{CXX_LIBRARY, "throws", "exceptions may pass", STRATEGY_RETURN_SITES, 1},
	{CXX_LIBRARY, "catches", "throws of another file", STRATEGY_RETURN_SITES, 1},
	{CXX_LIBRARY, "cxx_leaf", "it calls nothing", STRATEGY_URETPROBE, 0},
};

static void each_kind_gets_its_strategy(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(kinds); i++) {
		struct one one;
		enum reason reason = kinds[i].strategy ? REASON_NONE : REASON_UNSAFE_RETURN;
		resolve(&one, kinds[i].path, kinds[i].symbol, EXIT_AUTO);
		if (one.probe->reason != reason || one.probe->strategy != kinds[i].strategy ||
		    one.probe->n_sites != kinds[i].n_sites)
			fail_msg("%s: %s, %s, %zu sites: %s", kinds[i].symbol,
				 reason_name(one.probe->reason),
				 exit_strategy_name(one.probe->strategy), one.probe->n_sites,
				 one.probe->detail);
		has_text(&one, kinds[i].text);
		one_free(&one);
	}
}

static void by_name_return_sites_are_used_or_refused(void **state)
{
	struct one one;

	(void)state;
	resolve(&one, LIBRARY, "leaf", EXIT_RETURN_SITES);
	assert_int_equal(one.probe->reason, REASON_NONE);
	assert_int_equal(one.probe->strategy, STRATEGY_RETURN_SITES);
	assert_int_equal(one.probe->n_sites, 1);
	one_free(&one);
	EXPECT(LIBRARY, "switches_stacks", EXIT_RETURN_SITES, REASON_UNSAFE_RETURN, "exit: auto",
	       "exit: none");
	EXPECT(LIBRARY, "only_jumps", EXIT_RETURN_SITES, REASON_UNSAFE_RETURN, "first instruction");
}

static void a_tail_call_is_told_of(void **state)
{
	struct one one;

	(void)state;
	resolve(&one, LIBRARY, "jumps_if", EXIT_AUTO);
	has_text(&one, "its time ends where it goes on to another function");
	one_free(&one);
	resolve(&one, LIBRARY, "jumps_if", EXIT_URETPROBE);
	has_text(&one, "its time includes the functions that it goes on to");
	one_free(&one);
}

/* ---- where probes go ---- */

static const struct {
	const char *symbol;
	uint64_t moved;
	int32_t sp_adjust;
	const char *at_site, *class;
} entries[] = {
	{"endbr_push", 4, 0, "push %rbp", "emulated"},
	{"sub_call", 4, 24, "call", "emulated"}, /* below a change of sp: return-sites only */
	{"loop_head", 0, 0, "endbr64", "single-stepped"},
	{"nop5_body", 0, 0, "mov %edi, %eax", "single-stepped"},
	{"closed", 0, 0, "sub $0x08, %rsp", "single-stepped"},
	{"recursive", 0, 0, "push", "emulated"},
};

static void entries_move_to_the_first_cheap_instruction(void **state)
{
	(void)state;
#ifndef __x86_64__
	skip();
#endif
	for (size_t i = 0; i < N_ITEMS(entries); i++) {
		struct one one;
		resolve(&one, LIBRARY, entries[i].symbol, EXIT_AUTO);
		const struct plan_probe *probe = one.probe;
		if (probe->reason ||
		    probe->entry_offset - probe->symbol_offset != entries[i].moved ||
		    probe->entry_sp_adjust != entries[i].sp_adjust ||
		    strcmp(probe->entry.class, entries[i].class) != 0 ||
		    !strstr(probe->entry.at_site, entries[i].at_site))
			fail_msg("%s: +%" PRIu64 ", sp %d, \"%s\" (%s): %s", entries[i].symbol,
				 probe->entry_offset - probe->symbol_offset,
				 (int)probe->entry_sp_adjust, probe->entry.at_site,
				 probe->entry.class, probe->entry.why);
		one_free(&one);
	}
}

static void sites_that_cannot_be_probed_are_refused(void **state)
{
	(void)state;
#ifndef __x86_64__
	skip();
#endif
	for (enum exit_mode exit = EXIT_AUTO; exit <= EXIT_NONE; exit++) {
		EXPECT(LIBRARY, "lock_first", exit, REASON_KERNEL_REFUSED, "lock prefix");
		EXPECT(LIBRARY, "begins_with_its_loop", exit, REASON_UNSAFE_SITE, "every round");
	}
}

/* A five-byte nop may carry a probe at the very start only. */
static void nops_of_five_bytes_are_used_at_the_start_only(void **state)
{
	struct one one;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	resolve(&one, LIBRARY, "nop5_first", EXIT_AUTO);
	assert_int_equal(one.probe->reason, REASON_NONE);
	assert_true(one.probe->entry_offset == one.probe->symbol_offset ||
		    one.probe->entry_offset == one.probe->symbol_offset + 5);
	one_free(&one);
}

static void a_conditional_tail_call_counts_when_it_is_taken(void **state)
{
	struct one one;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	resolve(&one, LIBRARY, "jumps_below", EXIT_AUTO);
	assert_int_equal(one.probe->n_sites, 2);
	assert_int_equal(one.probe->sites[0].offset, one.probe->symbol_offset + 3);
	assert_int_equal(one.probe->sites[0].condition, UP_CONDITION_X86 + 2); /* below */
	assert_int_equal(one.probe->sites[1].condition, UP_CONDITION_ALWAYS);
	assert_int_equal(one.probe->sites[1].sp_adjust, 0);
	/* The cheap jump is an exit, and two probes on one instruction have no order. */
	assert_int_equal(one.probe->entry_offset, one.probe->symbol_offset);
	one_free(&one);
}

/* ---- Go ---- */

static void go_entries_count_when_the_stack_is_large_enough(void **state)
{
	static const struct {
		const char *symbol;
		uint64_t moved;
	} checked[] = {{"small_frame", 4}, {"large_frame", 12}};
	struct one one;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	for (size_t i = 0; i < N_ITEMS(checked); i++) {
		resolve(&one, GO, checked[i].symbol, EXIT_NONE);
		assert_int_equal(one.probe->reason, REASON_NONE);
		assert_int_equal(one.probe->entry_offset - one.probe->symbol_offset,
				 checked[i].moved);
		assert_int_equal(one.probe->entry_condition, UP_CONDITION_X86 + (6 ^ 1));
		assert_null(one.probe->warning);
		one_free(&one);
	}
	resolve(&one, GO, "no_check", EXIT_NONE);
	assert_int_equal(one.probe->entry_offset, one.probe->symbol_offset);
	assert_int_equal(one.probe->entry_condition, UP_CONDITION_ALWAYS);
	one_free(&one);
	EXPECT(GO, "small_frame", EXIT_AUTO, REASON_GO_UNSUPPORTED);
}

/* ---- whole files ---- */

struct names {
	struct arena arena;
	VEC(struct spec_function) functions;
	size_t untold;
};

static void add_name(void *context, const struct list_file *file,
		     const struct list_function *function)
{
	struct names *names = context;

	(void)file;
	*vec_push(&names->functions) =
		function_of(arena_strdup(&names->arena, function->names[0]), EXIT_AUTO);
}

static const char *share_of(const struct plan_probe *probe)
{
	return probe->reason ? reason_name(probe->reason) : exit_strategy_name(probe->strategy);
}

static size_t count(const struct plan *plan, const char *share)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_probes; i++)
		n += strcmp(share_of(&plan->probes[i]), share) == 0;
	return n;
}

/* Every function has a decision with a reason; the shares are printed. */
static void decide_all(const char *path)
{
	static const char *const shares[] = {"uretprobe",   "return-sites",   "unsafe_return",
					     "unsafe_site", "kernel_refused", "symbol_ambiguous"};
	struct names names = {0};
	struct list_file file;
	struct err err;

	arena_init(&names.arena);
	if (list_functions(path, NULL, add_name, &names, &names.arena, &file, &err) <= 0) {
		print_message("%s: left out, it is not installed\n", path);
		arena_fini(&names.arena);
		return;
	}
	struct spec_target target = {.name = "t",
				     .binary = path,
				     .host_cost = HOST_COST_ALLOW,
				     .functions = names.functions.at,
				     .n_functions = names.functions.n};
	struct spec spec = {.limits.host_programs = 8, .targets = &target, .n_targets = 1};
	clock_t start = clock();
	struct plan *plan = resolve_plan(&spec, NULL);
	print_message("%s: %zu functions in %.2f s of CPU:", path, plan->n_probes,
		      (double)(clock() - start) / CLOCKS_PER_SEC);
	assert_int_equal(plan->n_probes, names.functions.n);
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (!*probe->detail || (!probe->reason && !probe->entry.class))
			fail_msg("%s: nothing is said", probe->label);
		if (!probe->reason && probe->strategy == STRATEGY_NONE)
			fail_msg("%s: neither refused nor timed", probe->label);
	}
	for (size_t i = 0; i < N_ITEMS(shares); i++)
		print_message(" %s %.1f%%", shares[i],
			      100.0 * (double)count(plan, shares[i]) / (double)plan->n_probes);
	print_message("\n");
	assert_true(count(plan, "uretprobe") + count(plan, "return-sites") >
		    plan->n_probes * 9 / 10);
	plan_free(plan);
	vec_fini(&names.functions);
	arena_fini(&names.arena);
}

static void every_function_is_decided(void **state)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib/aarch64-linux-gnu/libc.so.6",
					    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					    "/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
					    "/usr/lib/postgresql/15/bin/postgres",
					    "/usr/bin/python3"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++)
		decide_all(files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_gets_its_strategy),
		cmocka_unit_test(by_name_return_sites_are_used_or_refused),
		cmocka_unit_test(a_tail_call_is_told_of),
		cmocka_unit_test(entries_move_to_the_first_cheap_instruction),
		cmocka_unit_test(sites_that_cannot_be_probed_are_refused),
		cmocka_unit_test(nops_of_five_bytes_are_used_at_the_start_only),
		cmocka_unit_test(a_conditional_tail_call_counts_when_it_is_taken),
		cmocka_unit_test(go_entries_count_when_the_stack_is_large_enough),
		cmocka_unit_test(every_function_is_decided),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
