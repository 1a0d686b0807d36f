/* procview.c: a fake /proc, and processes of our own in the real one. */
#include "fake_proc.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target/procview.h"

#define PF_KTHREAD 0x00200000

static struct fake_proc proc;
static struct procview view;

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&proc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	procview_close(&view);
	fake_proc_fini(&proc);
	return 0;
}

static void every_fact(void **state)
{
	struct stat st;
	uid_t uid;
	size_t length;
	dev_t dev;
	ino_t ino;

	(void)state;
	FAKE(&proc, .pid = 10, .ppid = 7, .comm = "shop", .exe = "/bin/sh", .uid = 42,
	     .start = 1234, .cgroup = "/lxc/web", .cmdline = "shop --port 1");
	assert_true(procview_open(&view, proc.fd, 10));
	assert_true(procview_is_process(&view));
	assert_int_equal(procview_stat(&view)->ppid, 7);
	assert_int_equal(procview_stat(&view)->start_ticks, 1234);
	assert_string_equal(procview_comm(&view), "shop");
	assert_true(procview_uid(&view, &uid));
	assert_int_equal(uid, 42);
	assert_string_equal(procview_exe(&view, &length), "/bin/sh");
	assert_int_equal(length, 7);
	assert_int_equal(stat("/bin/sh", &st), 0);
	assert_true(procview_exe_file(&view, &dev, &ino));
	assert_true(dev == st.st_dev && ino == st.st_ino);
	assert_string_equal(procview_cmdline(&view, &length), "shop --port 1");
	assert_int_equal(length, 13);
	assert_string_equal(procview_cgroup(&view), "/lxc/web");
	assert_string_equal(procview_ids(&view)->container, "web");
}

/* What has been read is not read again: the files may be gone. */
static void each_fact_is_read_once(void **state)
{
	size_t length;

	(void)state;
	FAKE(&proc, .pid = 10, .comm = "shop");
	assert_true(procview_open(&view, proc.fd, 10));
	assert_string_equal(procview_comm(&view), "shop");
	assert_string_equal(procview_cmdline(&view, &length), "plain");
	fake_drop(&proc, 10);
	assert_string_equal(procview_comm(&view), "shop");
	assert_string_equal(procview_cmdline(&view, &length), "plain");
	assert_null(procview_cgroup(&view));
	FAKE(&proc, .pid = 10, .comm = "other"); /* another process of that pid */
	assert_string_equal(procview_comm(&view), "shop");
	assert_null(procview_cgroup(&view));
	assert_null(procview_exe(&view, &length));
	assert_null(procview_stat(&view));
	assert_false(procview_is_process(&view));
}

/* A glance has no hold of the process; to decide on it begins anew. */
static void a_glance_becomes_a_look(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 10, .comm = "shop", .start = 1);
	procview_glance(&view, proc.fd, 10);
	assert_false(procview_is_pinned(&view));
	assert_string_equal(procview_comm(&view), "shop");
	fake_drop(&proc, 10);
	FAKE(&proc, .pid = 10, .comm = "other", .start = 2);
	assert_int_equal(procview_stat(&view)->start_ticks, 2); /* of two processes */
	assert_true(procview_pin(&view));
	assert_true(procview_is_pinned(&view));
	assert_string_equal(procview_comm(&view), "other");
	procview_close(&view);
	procview_glance(&view, proc.fd, 11);
	assert_null(procview_comm(&view));
	assert_false(procview_pin(&view));
	assert_null(procview_comm(&view));
	assert_false(procview_is_process(&view));
}

/* The name of the executable, as the kernel tells it when a program starts. */
static void what_may_run(void **state)
{
	static const char whole[8] = "shop", cut[8] = "shopkee";

	(void)state;
	FAKE(&proc, .pid = 10);
	procview_glance(&view, proc.fd, 10);
	assert_true(procview_may_run(&view, "/bin/anything"));
	procview_started(&view, whole, sizeof(whole));
	assert_true(procview_may_run(&view, "/bin/shop"));
	assert_false(procview_may_run(&view, "/bin/shopkeeper"));
	assert_false(procview_may_run(&view, "/shop/bin"));
	procview_started(&view, "m:a/b\0", 8); /* of a memfd */
	assert_true(procview_may_run(&view, "/m:a/b"));
	assert_false(procview_may_run(&view, "/b"));
	procview_started(&view, cut, sizeof(cut));
	assert_true(procview_may_run(&view, "/bin/shopkeeper"));
	procview_started(&view, "", 8);
	assert_true(procview_may_run(&view, "/bin/anything"));
	procview_started(&view, whole, sizeof(whole));
	assert_true(procview_pin(&view)); /* it may run another by now */
	assert_true(procview_may_run(&view, "/bin/anything"));
}

static void gone_before_it_was_looked_at(void **state)
{
	dev_t dev;
	ino_t ino;
	uid_t uid;

	(void)state;
	assert_false(procview_open(&view, proc.fd, 10));
	assert_false(procview_is_process(&view));
	assert_null(procview_comm(&view));
	assert_null(procview_ids(&view));
	assert_false(procview_uid(&view, &uid));
	assert_false(procview_exe_file(&view, &dev, &ino));
}

static void what_is_no_process(void **state)
{
	static const struct {
		struct fake_process of;
		bool is;
	} cases[] = {
		{{.pid = 1, .start = 1}, true},
		{{.pid = 2, .flags = PF_KTHREAD | 0x40}, false},
		{{.pid = 3, .tgid = 1}, false}, /* a thread */
		{{.pid = 4, .state = 'Z'}, false},
		{{.pid = 5, .state = 'X'}, false},
		{{.pid = 6, .state = 'Z', .threads = 3}, true}, /* only its first thread ended */
		{{.pid = 7, .state = 'T'}, true},
		{{.pid = 8, .state = 'D', .threads = 1000}, true},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		fake_add(&proc, cases[i].of);
		assert_true(procview_open(&view, proc.fd, cases[i].of.pid));
		if (procview_is_process(&view) != cases[i].is)
			fail_msg("case %zu", i);
		procview_close(&view);
	}
}

static const struct {
	const char *text, *comm;
	int ppid;
	unsigned start;
} stats[] = {
	{"7 (a) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 23\n", "a", 3, 99},
	{"7 (a b) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99\n", "a b", 3, 99},
	{"7 (a) R 1 2 3) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n", "a) R 1 2 3", 3,
	 99},
	{"7 ()) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n", ")", 3, 99},
	{"7 (() S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n", "(", 3, 99},
	{"7 () S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n", "", 3, 99},
	{"7 (a\nb) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n", "a\nb", 3, 99},
	{"7 (\xff\xc3\x1b[) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 99 0\n",
	 "\xff\xc3\x1b[", 3, 99},
	{"7 (a) S 3", "a", 3, 0}, /* cut short */
};

static void stat_with_any_name(void **state)
{
	static const char *const none[] = {"",	    "7",      "7 (a",	 "7 a) S 1",  "7 )a( S 1",
					   "7 (a)", "7 (a) ", "7 (a) S", "7 (a)S 1 2"};
	struct procview_stat stat;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(stats); i++) {
		assert_true(procview_parse_stat(stats[i].text, strlen(stats[i].text), &stat));
		assert_string_equal(stat.comm, stats[i].comm);
		assert_int_equal(stat.ppid, stats[i].ppid);
		assert_int_equal(stat.start_ticks, stats[i].start);
	}
	for (size_t i = 0; i < N_ITEMS(none); i++)
		assert_false(procview_parse_stat(none[i], strlen(none[i]), &stat));
}

static void odd_names(void **state)
{
	static const char *const names[] = {"a\nb", "\n", ") R 1", "a\n\n", "\xff\xfe", " "};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(names); i++) {
		FAKE(&proc, .pid = 20 + (int)i, .comm = names[i]);
		assert_true(procview_open(&view, proc.fd, 20 + (int)i));
		assert_string_equal(procview_comm(&view), names[i]);
		assert_true(procview_is_process(&view));
		assert_string_equal(procview_comm(&view), names[i]); /* now from stat */
		procview_close(&view);
	}
}

static void a_deleted_executable(void **state)
{
	size_t length;
	dev_t dev;
	ino_t ino;

	(void)state;
	FAKE(&proc, .pid = 1, .exe = "/bin/shop (deleted)");
	assert_true(procview_open(&view, proc.fd, 1));
	assert_string_equal(procview_exe(&view, &length), "/bin/shop (deleted)");
	assert_int_equal(length, strlen("/bin/shop"));
	assert_false(procview_exe_file(&view, &dev, &ino));
	procview_close(&view);
	FAKE(&proc, .pid = 2, .exe = " (deleted)");
	assert_true(procview_open(&view, proc.fd, 2));
	assert_string_equal(procview_exe(&view, &length), " (deleted)");
	assert_int_equal(length, 10);
}

static void long_and_empty_arguments(void **state)
{
	static char bytes[3 * PROCVIEW_TEXT_BYTES];
	size_t length;

	(void)state;
	FAKE(&proc, .pid = 1);
	memset(bytes, 'a', sizeof(bytes));
	fake_write(&proc, 1, "cmdline", bytes, sizeof(bytes));
	assert_true(procview_open(&view, proc.fd, 1));
	assert_int_equal(strlen(procview_cmdline(&view, &length)), PROCVIEW_TEXT_BYTES);
	assert_int_equal(length, PROCVIEW_TEXT_BYTES);
	procview_close(&view);
	fake_write(&proc, 1, "cmdline", "", 0); /* a zombie's */
	assert_true(procview_open(&view, proc.fd, 1));
	assert_string_equal(procview_cmdline(&view, &length), "");
	procview_close(&view);
	fake_write(&proc, 1, "cmdline", "a\0\0b\nc\0\xff\0\0\0", 11);
	assert_true(procview_open(&view, proc.fd, 1));
	assert_string_equal(procview_cmdline(&view, &length), "a  b\nc \xff");
	procview_close(&view);
	fake_write(&proc, 1, "status", "Name:\tx\nTgid:\tx\nUid:\n", 22);
	assert_true(procview_open(&view, proc.fd, 1));
	assert_false(procview_is_process(&view));
}

/* ---- the real /proc ---- */

static pid_t start_child(const char *name)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
		prctl(PR_SET_NAME, name);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void a_child_of_ours(void **state)
{
	pid_t child = start_child("a) R (\n");
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char own[4096] = "";
	size_t length;
	uid_t uid;

	(void)state;
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_true(procview_open(&view, real, child));
	assert_true(procview_is_process(&view));
	assert_string_equal(procview_comm(&view), "a) R (\n");
	assert_int_equal(procview_stat(&view)->ppid, getpid());
	assert_true(procview_stat(&view)->start_ticks > 0);
	assert_true(procview_uid(&view, &uid) && uid == geteuid());
	assert_string_equal(procview_exe(&view, &length), own);
	assert_non_null(strstr(procview_cmdline(&view, &length), "procview_test"));
	assert_non_null(procview_cgroup(&view));
	procview_close(&view);

	assert_true(procview_open(&view, real, child));
	kill(child, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	assert_false(procview_is_process(&view)); /* a zombie */
	procview_close(&view);
	assert_true(procview_open(&view, real, child));
	waitpid(child, NULL, 0);
	assert_null(procview_stat(&view));
	assert_null(procview_cmdline(&view, &length));
	close(real);
}

/* Where version 2 is mounted, by itself or beside version 1 (hybrid); NULL: nowhere. */
static const char *unified(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < N_ITEMS(places); i++) {
		char path[64];
		snprintf(path, sizeof(path), "%s/cgroup.procs", places[i]);
		if (!access(path, W_OK))
			return places[i];
	}
	return NULL;
}

static void move(const char *folder, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%d\n", (int)pid);
	assert_int_equal(fclose(file), 0);
}

/* Below the folder of a container's name; and as a zombie, when its cgroup is gone. */
static void a_cgroup_of_ours(void **state)
{
	char above[128], folder[200], wanted[128];
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *root = unified();
	siginfo_t info;

	(void)state;
	if (!root)
		skip();
	snprintf(above, sizeof(above), "%s/lxc.payload.up-%d", root, (int)getpid());
	snprintf(folder, sizeof(folder), "%s/inner", above);
	if (mkdir(above, 0755) || mkdir(folder, 0755))
		skip();
	pid_t child = start_child("grouped");
	move(folder, child);
	assert_true(procview_open(&view, real, child));
	assert_string_equal(procview_cgroup(&view), folder + strlen(root));
	snprintf(wanted, sizeof(wanted), "up-%d", (int)getpid());
	assert_string_equal(procview_ids(&view)->container, wanted);
	procview_close(&view);

	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(rmdir(above), 0);
	assert_true(procview_open(&view, real, child));
	assert_string_equal(procview_cgroup(&view), folder + strlen(root));
	waitpid(child, NULL, 0);
	close(real);
}

static void *wait_for_end(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	pause();
	return NULL;
}

static void a_thread_of_ours_and_the_kernels(void **state)
{
	static pid_t tid;
	pthread_t thread;
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_true(procview_open(&view, real, tid));
	assert_false(procview_is_process(&view));
	procview_close(&view);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	if (procview_open(&view, real, 2) && !strcmp(procview_comm(&view), "kthreadd"))
		assert_false(procview_is_process(&view));
	close(real);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(every_fact),
		EACH(each_fact_is_read_once),
		EACH(a_glance_becomes_a_look),
		EACH(what_may_run),
		EACH(gone_before_it_was_looked_at),
		EACH(what_is_no_process),
		EACH(stat_with_any_name),
		EACH(odd_names),
		EACH(a_deleted_executable),
		EACH(long_and_empty_arguments),
		EACH(a_child_of_ours),
		EACH(a_cgroup_of_ours),
		EACH(a_thread_of_ours_and_the_kernels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
