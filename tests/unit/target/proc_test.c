/* Who maps a file: counted against processes that this test starts. */
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target/proc.h"

enum { CHILDREN = 3 };

static char folder[] = "/tmp/uprobe_proc_XXXXXX";

static int setup(void **state)
{
	return build_victims(state) || !mkdtemp(folder);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void describe(struct proc_mapped *mapped, const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	*mapped = (struct proc_mapped){.dev = st.st_dev, .ino = st.st_ino, .path = path};
}

/* A child that maps `path` executable and waits to be killed. */
static pid_t start_mapper(const char *path)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = open(path, O_RDONLY);
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void counts_processes_and_programs(void **state)
{
	char path[128], copy[256];
	struct proc_mapped mapped[2];
	pid_t children[CHILDREN];

	(void)state;
	/* A newline in the name is \012 in maps; device and inode are what is compared. */
	snprintf(path, sizeof(path), "%s/odd name\n", folder);
	snprintf(copy, sizeof(copy), "cp " ELF_DIR "libversions.so '%s'", path);
	assert_int_equal(system(copy), 0);
	describe(&mapped[0], path);
	describe(&mapped[1], ELF_DIR "plain.pie");
	proc_count(mapped, 2);
	assert_int_equal(mapped[0].processes, 0);
	assert_int_equal(mapped[0].programs, 0);
	for (int i = 0; i < CHILDREN; i++)
		children[i] = start_mapper(path);
	describe(&mapped[0], path);
	proc_count(mapped, 2);
	assert_int_equal(mapped[0].processes, CHILDREN);
	assert_int_equal(mapped[0].programs, 1);
	assert_int_equal(mapped[1].processes, 0);
	assert_true(proc_maps(children[0], mapped[0].dev, mapped[0].ino, path));
	assert_false(proc_maps(getpid(), mapped[0].dev, mapped[0].ino, path));
	for (int i = 0; i < CHILDREN; i++)
		stop(children[i]);
}

/* Another device in maps than in stat, as btrfs and overlayfs show: inode and path decide. */
static void another_device_is_forgiven_for_the_path(void **state)
{
	struct proc_mapped mapped;
	char *path = realpath(ELF_DIR "libversions.so", NULL);
	pid_t child = start_mapper(path);

	(void)state;
	describe(&mapped, path);
	mapped.dev += 1;
	proc_count(&mapped, 1);
	assert_int_equal(mapped.processes, 1);
	mapped.path = "/elsewhere";
	mapped.processes = 0;
	proc_count(&mapped, 1);
	assert_int_equal(mapped.processes, 0);
	stop(child);
	free(path);
}

/* A library becomes too dear when more programs map it than the limit. */
static void the_limit_is_on_programs(void **state)
{
	enum { PROGRAMS = 3 };
	char path[128], command[512];
	pid_t children[PROGRAMS];
	struct one one;

	(void)state;
	snprintf(path, sizeof(path), "%s/libshared.so", folder);
	snprintf(command, sizeof(command), "cp " ELF_DIR "libversions.so %s", path);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < PROGRAMS; i++) {
		char program[128], preload[256];
		snprintf(program, sizeof(program), "%s/program%d", folder, i);
		snprintf(command, sizeof(command), "cp /bin/sleep %s", program);
		assert_int_equal(system(command), 0);
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", path);
		children[i] = fork();
		if (children[i] == 0) {
			execle(program, "sleep", "100", NULL, (char *[]){preload, NULL});
			_exit(1);
		}
	}
	struct proc_mapped mapped = {0};
	for (int tries = 0; tries < 200 && mapped.programs < PROGRAMS; tries++) {
		usleep(10000);
		describe(&mapped, path);
		proc_count(&mapped, 1);
	}
	assert_int_equal(mapped.programs, PROGRAMS);

	one_resolve(&one, path, "foo", EXIT_NONE, 0, HOST_COST_REFUSE);
	assert_int_equal(one.probe->reason, REASON_NONE); /* 3 of 8 */
	assert_int_equal(one.plan->files[0].mapping_programs, PROGRAMS);
	plan_free(one.plan);
	one.spec.limits.host_programs = PROGRAMS - 1;
	one.plan = resolve_plan(&one.spec, NULL);
	assert_int_equal(one.plan->probes[0].reason, REASON_HOST_COST);
	assert_non_null(strstr(one.plan->probes[0].detail, "3 processes of 3 different programs"));
	plan_free(one.plan);
	one.target.pid = children[1];
	one.plan = resolve_plan(&one.spec, NULL);
	assert_int_equal(one.plan->probes[0].reason, REASON_NONE);
	assert_null(one.plan->probes[0].warning);
	one_free(&one);
	for (int i = 0; i < PROGRAMS; i++)
		stop(children[i]);
}

static void *wait_for_end(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	pause();
	return NULL;
}

static void a_thread_is_no_process(void **state)
{
	static pid_t tid;
	pthread_t thread;
	struct err err = {0};

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_int_not_equal(proc_check(tid, &err), 0);
	assert_int_equal(err.reason, REASON_PROCESS_NOT_FOUND);
	assert_non_null(strstr(err.msg, "is a thread of process"));
	assert_int_equal(proc_check(getpid(), &err), 0);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_processes_and_programs),
		cmocka_unit_test(another_device_is_forgiven_for_the_path),
		cmocka_unit_test(the_limit_is_on_programs),
		cmocka_unit_test(a_thread_is_no_process),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
