/* What `exit: auto` makes of programs with one dangerous thing each, and of harmless ones. */
#include "common.h"

#include <sys/wait.h>

static void plain_programs_get_return_probes(void **state)
{
	static const char *const harmless[] = {
		"evidence.NOTHING",	 "evidence.LONGJMP", "evidence.THREADS",
		"evidence.VLA",		 "evidence.SERVER", /* opens plugins, and leaves its
							       functions by longjmp */
		"evidence.needs_cleans",		    /* C++ that catches nothing */
		"plain.nopie",		 "plain.pie",	     "plain.static",
		"plain.staticpie",	 "plain.stripped"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(harmless); i++) {
		char path[128];
		struct one one;
		snprintf(path, sizeof(path), ELF_DIR "%s", harmless[i]);
		one_resolve(&one, path,
			    strncmp(harmless[i], "evidence", 8) == 0 ? "victim" : "first",
			    EXIT_AUTO, 0, HOST_COST_REFUSE);
		if (one.probe->reason)
			fail_msg("%s: %s", path, one.probe->detail);
		assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
		assert_non_null(strstr(one.probe->detail, "plain C program"));
		assert_null(one.probe->warning);
		one_free(&one);
	}
}

static const struct {
	const char *file, *symbol, *leaf, *evidence;
} dangerous[] = {
	{"evidence.CANCEL", "victim", "leaf", "pthread_cancel"},
	{"evidence.CONTEXT", "victim", "leaf", "swapcontext"},
	{"evidence.ALTSTACK", "victim", NULL, "sigaltstack"}, /* not even a leaf is safe */
	{"evidence.ALTSTACK", "leaf", NULL, "another stack"},
	{"evidence.CO_SWITCH", "victim", "leaf", "co_switch"},
	{"evidence.PTHREAD_EXIT", "victim", "leaf", "pthread_exit"},
	{"evidence.THRD_EXIT", "victim", "leaf", "thrd_exit"},
	{"evidence.CLEANUP", "victim", "leaf", "_Unwind_"},
	{"evidence.NEEDS_CXX", "victim", "leaf", "libstdc++.so.6"},
	{"evidence.SWITCH", "victim", "leaf", "its take takes up another stack"},
	{"evidence.SWITCH_O0", "victim", "leaf", "its take takes up another stack"},
	{"evidence.DLOPEN", "victim", "leaf", "opens plugins"},
	{"evidence.DLOPEN_LONGJMP", "victim", "leaf", "opens plugins"},
	{"evidence.needs_catches", "victim", "leaf", "libcatches.so, which it needs: it catches"},
	{"evidence.needs_alone", "victim", "leaf", "a runtime of its own"},
	{"evidence.needs_swaps", "victim", "leaf", "imports swapcontext"},
	{"evidence.needs_takes", "victim", "leaf", "seems to take up another stack"},
	{"evidence.STATIC_THREADS", "victim", "leaf", "pthread_cancel"},
	{"throws", "calls_out", "plain_name", "C++"},
	{"throws.static", "calls_out", "plain_name", "__gxx_personality_v0"},
	{"libstrategy.so", "calls_import", "leaf", "shared library"},
};

static void resolve_in(struct one *one, size_t i, const char *symbol, enum exit_mode exit)
{
	char path[128];

	snprintf(path, sizeof(path), ELF_DIR "%s", dangerous[i].file);
	one_resolve(one, path, symbol, exit, 0, HOST_COST_REFUSE);
	if (one->probe->reason)
		fail_msg("%s of %s: %s", symbol, path, one->probe->detail);
}

static void in_danger_the_exits_are_probed(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(dangerous); i++) {
		struct one one;
		resolve_in(&one, i, dangerous[i].symbol, EXIT_AUTO);
		assert_int_equal(one.probe->strategy, STRATEGY_RETURN_SITES);
		assert_true(one.probe->n_sites > 0);
		if (!strstr(one.probe->detail, dangerous[i].evidence))
			fail_msg("\"%s\" is not in: %s", dangerous[i].evidence, one.probe->detail);
		one_free(&one);
	}
}

static void what_cannot_call_out_is_in_no_danger(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(dangerous); i++) {
		struct one one;
		if (!dangerous[i].leaf)
			continue;
		resolve_in(&one, i, dangerous[i].leaf, EXIT_AUTO);
		if (one.probe->strategy != STRATEGY_URETPROBE)
			fail_msg("%s of %s: %s", dangerous[i].leaf, dangerous[i].file,
				 one.probe->detail);
		assert_null(one.probe->warning);
		one_free(&one);
	}
}

static void by_name_the_risk_is_taken_with_a_warning(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(dangerous); i++) {
		struct one one;
		resolve_in(&one, i, dangerous[i].symbol, EXIT_URETPROBE);
		assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
		assert_non_null(strstr(one.probe->warning, dangerous[i].evidence));
		one_free(&one);
	}
}

/* C++ linked in and stripped: no name is left, but the frame information has a personality. */
static void hidden_cxx_is_seen(void **state)
{
	struct one one;

	(void)state;
	EXPECT(ELF_DIR "throws.hidden", "anything", EXIT_AUTO, REASON_SYMBOL_NOT_FOUND);
	assert_int_equal(
		system("g++ -O1 -w tests/victims/elf/throws.cc -static-libstdc++ "
		       "-static-libgcc -Wl,--export-dynamic-symbol=calls_out -s -o " ELF_DIR
		       "throws.hidden.$PPID && mv " ELF_DIR "throws.hidden.$PPID " ELF_DIR
		       "throws.named"),
		0);
	one_resolve(&one, ELF_DIR "throws.named", "calls_out", EXIT_AUTO, 0, HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_RETURN_SITES);
	assert_non_null(strstr(one.probe->detail, "personality"));
	one_free(&one);
}

static const char server[] = ELF_DIR "evidence.SERVER";

/* A process of the program, with a library opened, that ends with its standard input. */
struct running {
	FILE *input, *output;
	pid_t pid;
};

static void running_start(struct running *running, const char *library)
{
	int input[2], output[2];
	char line[64];

	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(output), 0);
	running->pid = fork();
	assert_true(running->pid >= 0);
	if (running->pid == 0) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		close(input[1]);
		execl(server, server, library, NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	running->input = fdopen(input[1], "w");
	running->output = fdopen(output[0], "r");
	assert_non_null(fgets(line, sizeof(line), running->output));
	assert_string_equal(line, "ready\n");
}

static void running_end(struct running *running)
{
	fclose(running->input);
	fclose(running->output);
	waitpid(running->pid, NULL, 0);
}

/* Plugins are seen where they are: another process with another plugin changes the answer. */
static void what_processes_have_mapped_is_evidence(void **state)
{
	struct running harmless, harmful;
	struct one one;

	(void)state;
	running_start(&harmless, ELF_DIR "lib/libcleans.so");
	one_resolve(&one, server, "victim", EXIT_AUTO, 0, HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
	one_free(&one);
	running_start(&harmful, ELF_DIR "lib/libcatches.so");
	one_resolve(&one, server, "victim", EXIT_AUTO, 0, HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_RETURN_SITES);
	assert_non_null(strstr(one.probe->detail, "libcatches.so, which process"));
	one_free(&one);
	running_end(&harmful);
	one_resolve(&one, server, "victim", EXIT_AUTO, 0, HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
	one_free(&one);
	running_end(&harmless);
}

/* What was found out of a library is not believed of another one in its place. */
static void a_library_that_is_replaced_is_looked_at_again(void **state)
{
	static const char *const copies[][2] = {
		{"cp " ELF_DIR "lib/libcleans.so " ELF_DIR "own/lib/libcleans.so",
		 "plain C program"},
		{"cp " ELF_DIR "lib/libcatches.so " ELF_DIR "own/lib/libcleans.so", "it catches"},
		{"cp " ELF_DIR "lib/libcleans.so " ELF_DIR "own/lib/libcleans.so",
		 "plain C program"},
	};

	(void)state;
	assert_int_equal(system("rm -rf " ELF_DIR "own; mkdir -p " ELF_DIR "own/lib; cp " ELF_DIR
				"evidence.needs_cleans " ELF_DIR "own"),
			 0);
	for (size_t i = 0; i < N_ITEMS(copies); i++) {
		struct one one;
		assert_int_equal(system(copies[i][0]), 0);
		one_resolve(&one, ELF_DIR "own/evidence.needs_cleans", "victim", EXIT_AUTO, 0,
			    HOST_COST_REFUSE);
		if (!strstr(one.probe->detail, copies[i][1]))
			fail_msg("%s", one.probe->detail);
		one_free(&one);
	}
}

static void go_gets_counts_only(void **state)
{
	static const char *const files[] = {ELF_DIR "evidence.GO_SECTION",
					    ELF_DIR "evidence.GO_MAGIC"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		struct one one;
		EXPECT(files[i], "victim", EXIT_AUTO, REASON_GO_UNSUPPORTED, "exit: none");
		EXPECT(files[i], "victim", EXIT_URETPROBE, REASON_GO_UNSUPPORTED);
		EXPECT(files[i], "victim", EXIT_RETURN_SITES, REASON_GO_UNSUPPORTED);
		one_resolve(&one, files[i], "victim", EXIT_NONE, 0, HOST_COST_REFUSE);
		assert_int_equal(one.probe->reason, REASON_NONE);
		assert_int_equal(one.probe->strategy, STRATEGY_NONE);
		assert_null(one.probe->warning); /* it has no stack check, so it does not restart */
		one_free(&one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_programs_get_return_probes),
		cmocka_unit_test(in_danger_the_exits_are_probed),
		cmocka_unit_test(what_cannot_call_out_is_in_no_danger),
		cmocka_unit_test(by_name_the_risk_is_taken_with_a_warning),
		cmocka_unit_test(hidden_cxx_is_seen),
		cmocka_unit_test(what_processes_have_mapped_is_evidence),
		cmocka_unit_test(a_library_that_is_replaced_is_looked_at_again),
		cmocka_unit_test(go_gets_counts_only),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
