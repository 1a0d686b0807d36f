/*
 * Exact counts and survival, once a tier: what tests/bpf asserts on the development machine, with
 * counts divided by about a hundred, because an emulated processor makes these calls.
 *
 * To load and attach takes the emulated exporter seconds, so most tests share one a tier: all of
 * their victims are started, then the exporter, then the tests make their calls one after another
 * and compare what was added. Tests that want a config of their own or end the exporter do not.
 */
#include "guest.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS_MAX 8

struct test {
	const char *name;
	const char *victim[5]; /* file in /victims and arguments */
	int rounds;
	struct expected expected[FUNCTIONS_MAX + 1]; /* in all rounds */
	/* What makes its calls while the exporter runs; NULL: rounds_make. */
	void (*make)(const struct test *test, struct process *victim, struct exporter *exporter);
	bool starts_later;  /* after the shared exporter */
	const char *binary; /* in /victims, what is probed; NULL: the victim */
	/* Tests with an exporter of their own: */
	void (*alone)(const struct test *test, const char *tier); /* NULL: one of the shared */
	const char *exit;					  /* NULL: uretprobe */
	bool filtered; /* only this process, while another one makes the same calls */
};

/* ---- config and victim ------------------------------------------------------------------- */

static const char *binary_name(const struct test *test)
{
	return test->binary ? test->binary : test->victim[0];
}

static const char *victim_path(const struct test *test)
{
	static char path[64];

	snprintf(path, sizeof(path), "/victims/%s", test->victim[0]);
	return path;
}

static void victim_start(const struct test *test, struct process *process)
{
	const char *argv[ARGUMENTS_MAX] = {victim_path(test)};

	for (size_t i = 1; i < sizeof(test->victim) / sizeof(*test->victim); i++)
		argv[i] = test->victim[i];
	process_start(process, argv, NULL);
	process_line(process);
}

static void victim_round(struct process *process)
{
	process_poke(process);
	process_line(process);
}

/* It must have come through unharmed: the end of its input ends it with status 0. */
static void victim_end(struct process *process)
{
	int status = process_end(process, 0);

	if (status != 0)
		case_fail("the victim did not end well: wait status %#x", (unsigned)status);
}

struct config {
	char text[4096];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct config *config, const char *fmt, ...)
{
	size_t room = sizeof(config->text) - config->length;
	va_list args;

	va_start(args, fmt);
	config->length += (size_t)vsnprintf(config->text + config->length, room, fmt, args);
	va_end(args);
	if (config->length >= sizeof(config->text))
		die("config");
}

static void put_target(struct config *config, const struct test *test)
{
	if (!config->length)
		put(config, "targets:\n");
	put(config, "  - name: %s\n    binary: /victims/%s\n", binary_name(test),
	    binary_name(test));
}

static void put_functions(struct config *config, const struct test *test, const char *exit)
{
	put(config, "    functions:\n");
	for (const struct expected *e = test->expected; e->function; e++)
		put(config, "      - {symbol: %s, exit: %s}\n", e->function, exit);
}

static const char *config_alone(const struct test *test, pid_t pid)
{
	static struct config config;

	config.length = 0;
	put_target(&config, test);
	if (test->filtered)
		put(&config, "    process: {pid: %d}\n", pid);
	put_functions(&config, test, test->exit ? test->exit : "uretprobe");
	return config.text;
}

/* What the victim says that it did, in each round: `"work":10000`. The table must not be wrong. */
static void require_truth(const struct test *test, const struct process *process)
{
	char text[64];

	for (const struct expected *e = test->expected; e->function; e++) {
		snprintf(text, sizeof(text), "\"%s\":", e->function);
		const char *at = strstr(process->answer, text);
		long calls = -1;
		if (at && sscanf(at + strlen(text), "%ld", &calls) == 1 &&
		    calls * test->rounds != e->observed + e->abandoned)
			case_fail("the victim made %ld calls of %s a round", calls, e->function);
	}
}

/* ---- the ways to make calls -------------------------------------------------------------- */

static void rounds_make(const struct test *test, struct process *victim, struct exporter *exporter)
{
	(void)exporter;
	for (int i = 0; i < test->rounds; i++)
		victim_round(victim);
	require_truth(test, victim);
}

/* The first round never answers: the new image says `ready`, and makes the calls of the next. */
static void exec_make(const struct test *test, struct process *victim, struct exporter *exporter)
{
	(void)test, (void)exporter;
	victim_round(victim);
	if (strncmp(victim->answer, "ready ", 6) != 0)
		case_fail("the new image said `%s`", victim->answer);
	victim_round(victim);
}

/* All calls are open when the process is killed. */
static void killed_make(const struct test *test, struct process *victim, struct exporter *exporter)
{
	struct account account = {0};

	victim_round(victim);
	if (exporter_scrape(exporter))
		account = account_of(exporter, binary_name(test), test->expected);
	if (account.in_flight != test->expected[0].abandoned)
		case_fail("%ld calls in flight while all are open", account.in_flight);
	process_end(victim, SIGKILL);
}

/* ---- tests that share an exporter -------------------------------------------------------- */

/*
 * What is to be expected where the exits themselves are probed: there is no limit to the depth,
 * and a call that was left is noticed at the thread's end, or earlier when the same one is made.
 */
static void adapt(const struct expected *from, struct expected *to)
{
	do {
		*to = *from;
		if (from->reason && !strcmp(from->reason, "depth"))
			*to = (struct expected){from->function, from->observed + from->abandoned};
		to->reason = NULL;
		to++;
	} while ((from++)->function);
}

static void shared_run(const struct test *test, const char *exit, struct process *victim,
		       struct exporter *exporter)
{
	bool returns = !strcmp(exit, "uretprobe");
	const struct expected *expected = test->expected;
	struct expected adapted[FUNCTIONS_MAX + 1];
	struct account before[FUNCTIONS_MAX];

	if (!returns) {
		adapt(test->expected, adapted);
		expected = adapted;
	}
	if (test->starts_later)
		victim_start(test, victim);
	if (account_before(exporter, binary_name(test), expected, before)) {
		(test->make ? test->make : rounds_make)(test, victim, exporter);
		if (!returns)
			victim_end(victim);
		account_require(exporter, binary_name(test), expected, before);
	}
	victim_end(victim);
	if (case_failed())
		exporter_tell_log();
}

/* ---- tests that have one of their own ---------------------------------------------------- */

static const struct account nothing_before[FUNCTIONS_MAX];

static void rounds_alone(const struct test *test, const char *tier)
{
	struct process victim = {0}, other = {0};
	struct exporter exporter;

	victim_start(test, &victim);
	if (test->filtered)
		victim_start(test, &other);
	if (exporter_start(&exporter, config_alone(test, victim.pid), tier)) {
		for (int i = 0; i < test->rounds; i++) {
			if (test->filtered)
				victim_round(&other);
			victim_round(&victim);
		}
		account_require(&exporter, binary_name(test), test->expected, nothing_before);
	}
	victim_end(&victim);
	victim_end(&other);
	exporter_stop(&exporter, SIGTERM);
}

static void count_only_alone(const struct test *test, const char *tier)
{
	struct process victim;
	struct exporter exporter;

	victim_start(test, &victim);
	if (exporter_start(&exporter, config_alone(test, victim.pid), tier)) {
		rounds_make(test, &victim, &exporter);
		exporter_scrape(&exporter);
		long calls = exporter_value(&exporter, "uprobe_function_calls_total", NULL, NULL);
		if (calls != test->expected[0].observed)
			case_fail("%ld calls counted", calls);
	}
	victim_end(&victim);
	exporter_stop(&exporter, SIGTERM);
}

/* The probes go while calls are open; the victim returns from them unharmed. */
static void detached_alone(const struct test *test, const char *tier)
{
	struct process victim;
	struct exporter exporter;

	victim_start(test, &victim);
	if (exporter_start(&exporter, config_alone(test, victim.pid), tier))
		victim_round(&victim);
	exporter_stop(&exporter, SIGTERM);
	victim_round(&victim);
	require_truth(test, &victim);
	victim_end(&victim);
}

static void wait_unprobed(const struct process *victim, const char *file, const char *symbol)
{
	double until = seconds_now() + END_SECONDS;

	while (process_is_probed(victim, file, symbol)) {
		if (seconds_now() > until) {
			case_fail("a breakpoint is left in %s", symbol);
			return;
		}
		doze();
	}
}

/* Killed while its probes are hit: nothing is left, the victim goes on, a new one counts exactly.
 */
static void kill_9_alone(const struct test *test, const char *tier)
{
	const char *function = test->expected[0].function;
	struct process victim;
	struct exporter exporter;

	victim_start(test, &victim);
	if (exporter_start(&exporter, config_alone(test, victim.pid), tier)) {
		if (!process_is_probed(&victim, victim_path(test), function))
			case_fail("there is no breakpoint in %s", function);
		process_poke(&victim);
	}
	exporter_stop(&exporter, SIGKILL);
	process_line(&victim); /* the round during which it was killed */
	require_truth(test, &victim);
	wait_unprobed(&victim, victim_path(test), function);
	if (exporter_start(&exporter, config_alone(test, victim.pid), tier)) {
		victim_round(&victim);
		account_require(&exporter, binary_name(test), test->expected, nothing_before);
	}
	victim_end(&victim);
	exporter_stop(&exporter, SIGTERM);
}

/* ---- the tests --------------------------------------------------------------------------- */

#define THREADS(name_, program, when, ...)                                                         \
	{                                                                                          \
		.name = name_, .victim = {program, "4", "2500", when}, .rounds = 1,                \
		.expected = {{"work", 10000}}, __VA_ARGS__                                         \
	}
#define SHAPES(name_, depth, ...)                                                                  \
	{                                                                                          \
		.name = name_, .victim = {"shapes", depth, "2"}, .rounds = 2, .expected = {        \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define LEAVES(name_, mode, ...)                                                                   \
	{                                                                                          \
		.name = name_, .victim = {"leaves", mode, "20"}, .rounds = 1, .expected = {        \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define PROCS(name_, mode, rounds_, ...)                                                           \
	{                                                                                          \
		.name = name_, .victim = {"procs", mode, "5"}, .rounds = rounds_, __VA_ARGS__      \
	}

static const struct test tests[] = {
	THREADS("threads that are there already", "threads", "early"),
	THREADS("threads that come later", "threads", "late"),
	THREADS("a process that comes later", "threads", "late", .starts_later = true),
	THREADS("an executable without PIE", "threads.nopie", "late"),
	THREADS("a static executable", "threads.static", "late"),
	THREADS("a function that begins with endbr64", "threads.endbr", "late"),
	{.name = "a library",
	 .victim = {"library", "/victims/libmany1000.so", "1000", "7"},
	 .rounds = 1,
	 .expected = {{"fn_00000", 7}, {"fn_00999", 7}},
	 .binary = "libmany1000.so"},
	SHAPES("calls inside calls, recursion 50 deep", "50", {"recurse", 200}, {"ping", 100},
	       {"pong", 100}, {"outer", 4}, {"inner", 8}, {"tail_begin", 4}, {"tail_end", 4},
	       {"many_returns", 4}),
	SHAPES("recursion 1000 deep", "1000", {"recurse", 256, "depth", 3744},
	       {"ping", 128, "depth", 1872}, {"pong", 128, "depth", 1872}, {"inner", 8}),
	LEAVES("longjmp over several frames", "deep", {"leave", 10, "unwound", 10},
	       {"middle", 0, "unwound", 10}, {"leave_deepest", 0, "unwound", 10}, {"after", 1}),
	LEAVES("longjmp", "jump", {"leave", 10, "unwound", 10}, {"after", 1}),
	LEAVES("pthread_exit", "thread", {"leave", 10, "thread_exit", 10}),
	LEAVES("exit system call of a thread", "raw", {"leave", 10, "thread_exit", 10}),
	PROCS("fork", "fork", 2, .expected = {{"spawn", 10}, {"child_work", 10}}),
	PROCS("vfork", "vfork", 2, .expected = {{"spawn", 10}}),
	PROCS("exec", "exec", 1, .expected = {{"spawn", 5, "exec", 1}}, .make = exec_make),
	PROCS("exec from another thread", "exec-thread", 1, .expected = {{"spawn", 5, "exec", 1}},
	      .make = exec_make),
	{.name = "killed inside the call",
	 .victim = {"blocked", "5"},
	 .expected = {{"hold", 0, "thread_exit", 5}},
	 .make = killed_make},

	THREADS("exit: auto", "threads", "late", .exit = "auto", .alone = rounds_alone),
	THREADS("exit: none", "threads", "late", .exit = "none", .alone = count_only_alone),
	THREADS("pid filter, all threads of one process", "threads", "late", .filtered = true,
		.alone = rounds_alone),
	PROCS("pid filter, not its children", "fork", 2,
	      .expected = {{"spawn", 10}, {"child_work", 0}}, .filtered = true,
	      .alone = rounds_alone),
	{.name = "detached inside the call",
	 .victim = {"blocked", "40"},
	 .rounds = 1,
	 .expected = {{"hold", 40}},
	 .alone = detached_alone},
	THREADS("kill -9 of the exporter", "threads", "late", .alone = kill_9_alone),
};
#define TESTS (sizeof(tests) / sizeof(*tests))

/* The functions of a binary that several tests share are those of the first: it must have all. */
static const char *config_shared(const char *exit)
{
	static struct config config;

	config.length = 0;
	for (size_t i = 0; i < TESTS; i++) {
		bool seen = tests[i].alone;
		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(binary_name(&tests[k]), binary_name(&tests[i]));
		if (seen)
			continue;
		put_target(&config, &tests[i]);
		put_functions(&config, &tests[i], exit);
	}
	return config.text;
}

static void run_shared(const char *tier, const char *exit)
{
	struct process victims[TESTS] = {0};
	struct exporter exporter;

	case_begin("%s %s attaches", tier, exit);
	for (size_t i = 0; i < TESTS; i++)
		if (!tests[i].alone && !tests[i].starts_later)
			victim_start(&tests[i], &victims[i]);
	exporter_start(&exporter, config_shared(exit), tier);
	case_end();
	for (size_t i = 0; i < TESTS; i++) {
		if (tests[i].alone)
			continue;
		case_begin("%s %s %s", tier, exit, tests[i].name);
		shared_run(&tests[i], exit, &victims[i], &exporter);
		case_end();
	}
	case_begin("%s %s ends and leaves nothing", tier, exit);
	exporter_stop(&exporter, SIGTERM);
	case_end();
}

static void run_alone(const char *tier)
{
	for (size_t i = 0; i < TESTS; i++) {
		if (!tests[i].alone)
			continue;
		case_begin("%s %s", tier, tests[i].name);
		tests[i].alone(&tests[i], tier);
		case_end();
	}
}

void tests_run(const char *tier)
{
	run_shared(tier, "uretprobe");
	run_shared(tier, "return-sites");
	run_alone(tier);
}
