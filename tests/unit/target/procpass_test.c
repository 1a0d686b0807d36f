/* procpass.c: who is selected by which filter, and who by descent; in a fake /proc and the real. */
#include "fake_proc.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target/procpass.h"

#define MOST_FILTERS 4

static struct fake_proc proc;
static struct spec_process specs[MOST_FILTERS];
static struct procmatch *filters[MOST_FILTERS];
static struct procpass *pass;
static size_t n_filters;

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&proc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	procpass_free(pass);
	for (size_t i = 0; i < n_filters; i++)
		procmatch_free(filters[i]);
	fake_proc_fini(&proc);
	pass = NULL;
	return 0;
}

static void begin(size_t n, const struct spec_process *wanted)
{
	n_filters = n;
	for (size_t i = 0; i < n; i++) {
		specs[i] = wanted[i];
		filters[i] = procmatch_new(&specs[i], NULL);
	}
	pass = procpass_new(filters, n);
}

#define BEGIN(...)                                                                                 \
	begin(sizeof((struct spec_process[]){__VA_ARGS__}) / sizeof(struct spec_process),          \
	      (struct spec_process[]){__VA_ARGS__})

/* What was visited, as "filter:pid", "filter:pid+" for descendants, in the order of pids. */
struct visited {
	struct {
		size_t filter;
		int pid;
		bool inherited;
	} at[64];
	size_t n;
};

static void note(void *context, size_t filter, struct procview *view, bool inherited)
{
	struct visited *visited = context;

	assert_true(visited->n < N_ITEMS(visited->at));
	visited->at[visited->n].filter = filter;
	visited->at[visited->n].inherited = inherited;
	visited->at[visited->n++].pid = view->pid;
}

static int by_filter(const void *left, const void *right)
{
	const __typeof__(((struct visited *)0)->at[0]) *a = left, *b = right;

	if (a->filter != b->filter)
		return a->filter < b->filter ? -1 : 1;
	return a->pid - b->pid;
}

static const bool *skipped;

static void expect(const char *wanted)
{
	struct visited visited = {.n = 0};
	char text[512] = "";
	size_t length = 0;

	assert_int_equal(procpass_run(pass, proc.fd, skipped, note, &visited), 0);
	qsort(visited.at, visited.n, sizeof(visited.at[0]), by_filter);
	for (size_t i = 0; i < visited.n; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%zu:%d%s",
					   i ? " " : "", visited.at[i].filter, visited.at[i].pid,
					   visited.at[i].inherited ? "+" : "");
	assert_string_equal(text, wanted);
}

static void several_filters_at_once(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .comm = "init");
	FAKE(&proc, .pid = 2, .comm = "kthreadd", .flags = 0x00200000);
	FAKE(&proc, .pid = 30, .comm = "shop", .uid = 5);
	FAKE(&proc, .pid = 31, .comm = "shop", .uid = 6);
	FAKE(&proc, .pid = 4000, .comm = "bank", .uid = 5);
	BEGIN({.comm = "shop"}, {.user = "5", .uid = 5}, {.comm = "*"}, {.pid = 99});
	expect("0:30 0:31 1:30 1:4000 2:1 2:30 2:31 2:4000");
	fake_drop(&proc, 30);
	expect("0:31 1:4000 2:1 2:31 2:4000");
}

/* What a pass is not for, it does not forget either. */
static void some_are_skipped(void **state)
{
	static const bool others[] = {true, false, true};

	(void)state;
	FAKE(&proc, .pid = 7, .ppid = 1, .comm = "b", .start = 1);
	FAKE(&proc, .pid = 8, .ppid = 7, .comm = "a", .start = 1);
	BEGIN({.comm = "b", .children = true}, {.comm = "a"}, {.comm = "*"});
	expect("0:7 0:8+ 1:8 2:7 2:8");
	fake_drop(&proc, 7); /* its child stays a descendant */
	skipped = others;
	expect("1:8");
	skipped = NULL;
	expect("0:8+ 1:8 2:8");
}

static void children_and_theirs(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .comm = "init", .start = 1);
	FAKE(&proc, .pid = 50, .ppid = 1, .comm = "postgres", .start = 10);
	/* Pids need not grow downwards: they wrap. */
	FAKE(&proc, .pid = 40, .ppid = 50, .comm = "backend", .start = 11);
	FAKE(&proc, .pid = 30, .ppid = 40, .comm = "sh", .start = 12);
	FAKE(&proc, .pid = 60, .ppid = 1, .comm = "other", .start = 12);
	FAKE(&proc, .pid = 61, .ppid = 60, .comm = "child", .start = 12);
	BEGIN({.comm = "postgres", .children = true}, {.comm = "postgres"}, {.comm = "sh"},
	      {.comm = "*", .children = true});
	expect("0:30+ 0:40+ 0:50 1:50 2:30 3:1 3:30 3:40 3:50 3:60 3:61");
}

static void one_of_a_tree_that_matches_by_itself(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .comm = "init", .start = 1);
	FAKE(&proc, .pid = 2, .ppid = 1, .comm = "shop", .start = 2);
	FAKE(&proc, .pid = 3, .ppid = 2, .comm = "shop", .start = 3);
	BEGIN({.comm = "shop", .children = true});
	expect("0:2 0:3");
	/* It becomes another program, and its parent ends: a descendant all the same. */
	fake_drop(&proc, 2);
	fake_drop(&proc, 3);
	FAKE(&proc, .pid = 3, .ppid = 1, .comm = "sleep", .start = 3);
	expect("0:3+");
}

/* The process between ends: its children go to init, and stay selected while they live. */
static void orphans_stay_selected(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .comm = "init", .start = 1);
	FAKE(&proc, .pid = 2, .ppid = 1, .comm = "shop", .start = 2);
	FAKE(&proc, .pid = 3, .ppid = 2, .comm = "helper", .start = 3);
	BEGIN({.comm = "shop", .children = true});
	expect("0:2 0:3+");
	fake_drop(&proc, 2);
	fake_drop(&proc, 3);
	FAKE(&proc, .pid = 3, .ppid = 1, .comm = "helper", .start = 3);
	expect("0:3+");
	FAKE(&proc, .pid = 4, .ppid = 3, .comm = "new", .start = 9);
	expect("0:3+ 0:4+");
	/* Another process gets the orphan's pid. */
	fake_drop(&proc, 3);
	fake_drop(&proc, 4);
	FAKE(&proc, .pid = 3, .ppid = 1, .comm = "helper", .start = 20);
	FAKE(&proc, .pid = 5, .ppid = 3, .comm = "helper", .start = 21);
	expect("");
}

/* A parent that is younger than its child is another process with the pid of the real one. */
static void a_younger_parent_is_none(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 2, .ppid = 1, .comm = "shop", .start = 20);
	FAKE(&proc, .pid = 3, .ppid = 2, .comm = "helper", .start = 10);
	BEGIN({.comm = "shop", .children = true});
	expect("0:2");
}

static void rings_and_missing_parents(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .ppid = 1, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 2, .ppid = 3, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 3, .ppid = 4, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 4, .ppid = 2, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 5, .ppid = 3, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 6, .ppid = 777, .comm = "a", .start = 1);
	FAKE(&proc, .pid = 7, .ppid = 6, .comm = "b", .start = 1);
	FAKE(&proc, .pid = 8, .ppid = 7, .comm = "a", .start = 1);
	BEGIN({.comm = "b", .children = true}, {.comm = "none", .children = true});
	expect("0:7 0:8+");
}

static void a_folder_that_is_gone(void **state)
{
	struct visited visited = {.n = 0};

	(void)state;
	BEGIN({.comm = "a", .children = true});
	assert_int_equal(procpass_run(pass, -1, NULL, note, &visited), -EBADF);
	assert_int_equal(visited.n, 0);
	expect("");
}

static void a_pidfile_is_read_in_each_pass(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/pidfile", proc.folder);
	FAKE(&proc, .pid = 10);
	BEGIN({.pidfile = path});
	expect("");
	FILE *file = fopen(path, "w");
	fputs("10\n", file);
	fclose(file);
	expect("0:10");
	unlink(path);
	expect("");
}

/* ---- the real /proc ---- */

/* In a child: a chain of three, each with the next as its child, that tell their pids and wait. */
static void start_chain(int fd, const char *const *names)
{
	int left = 3;

	while (--left && fork() == 0)
		names++;
	prctl(PR_SET_NAME, names[0]);
	const pid_t self = getpid();
	if (write(fd, &self, sizeof(self)) != sizeof(self))
		_exit(1);
	for (;;)
		pause();
}

struct sought {
	pid_t pids[3];
	char found[3]; /* '.', 'x' or '+' */
};

static void seek(void *context, size_t filter, struct procview *view, bool inherited)
{
	struct sought *sought = context;

	(void)filter;
	for (int i = 0; i < 3; i++)
		if (sought->pids[i] == view->pid) {
			assert_int_equal(sought->found[i], '.');
			sought->found[i] = inherited ? '+' : 'x';
		}
}

static void expect_real(struct sought *sought, int real, const char *wanted)
{
	char text[4] = "";

	memset(sought->found, '.', 3);
	assert_int_equal(procpass_run(pass, real, NULL, seek, sought), 0);
	memcpy(text, sought->found, 3);
	assert_string_equal(text, wanted);
}

static int by_number(const void *left, const void *right)
{
	return *(const pid_t *)left - *(const pid_t *)right;
}

static bool is_zombie(pid_t pid)
{
	char line[256], state = '?';

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	FILE *file = fopen(line, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (file)
		fclose(file);
	return state == 'Z';
}

static void a_tree_of_ours(void **state)
{
	static const char *const names[] = {"up-root) (", "up-middle", "up-leaf"};
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), told[2];
	struct sought sought;

	(void)state;
	assert_int_equal(pipe(told), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0)
		start_chain(told[1], names);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read(told[0], &sought.pids[i], sizeof(pid_t)), sizeof(pid_t));
	qsort(sought.pids, 3, sizeof(pid_t), by_number);
	BEGIN({.comm = "up-root) (", .children = true});
	expect_real(&sought, real, "x++");
	kill(sought.pids[1], SIGKILL); /* the leaf becomes our child */
	for (int tries = 0; tries < 10000 && !is_zombie(sought.pids[1]); tries++)
		usleep(1000);
	assert_int_equal(waitpid(sought.pids[0], NULL, WNOHANG), 0);
	expect_real(&sought, real, "x.+");
	kill(sought.pids[0], SIGKILL);
	waitpid(sought.pids[0], NULL, 0);
	expect_real(&sought, real, "..+");
	kill(sought.pids[2], SIGKILL);
	waitpid(sought.pids[2], NULL, 0);
	expect_real(&sought, real, "...");
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(told[0]);
	close(told[1]);
	close(real);
}

static void count_ourselves(void *context, size_t filter, struct procview *view, bool inherited)
{
	if (view->pid == getpid() && filter == 0 && !inherited)
		++*(int *)context;
}

/* Processes come and go while we look; one that stays is seen each time, and once. */
static void among_short_lived_processes(void **state)
{
	enum { ROUNDS = 50 };
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), seen = 0;
	pid_t churn = fork();

	(void)state;
	while (churn == 0) {
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	BEGIN({.cmdline = "procpass_test", .children = true}, {.exe = "/*"}, {.cgroup = "/*"});
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(procpass_run(pass, real, NULL, count_ourselves, &seen), 0);
	assert_int_equal(seen, ROUNDS);
	kill(churn, SIGKILL);
	waitpid(churn, NULL, 0);
	close(real);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(some_are_skipped),
		EACH(several_filters_at_once),
		EACH(children_and_theirs),
		EACH(one_of_a_tree_that_matches_by_itself),
		EACH(orphans_stay_selected),
		EACH(a_younger_parent_is_none),
		EACH(rings_and_missing_parents),
		EACH(a_folder_that_is_gone),
		EACH(a_pidfile_is_read_in_each_pass),
		EACH(a_tree_of_ours),
		EACH(among_short_lived_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
