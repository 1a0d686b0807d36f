/* residents.c: against the processes of this machine. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "target/residents.h"

static struct residents residents;

static int teardown(void **state)
{
	(void)state;
	residents_fini(&residents);
	return 0;
}

static ino_t own_namespace(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	return st.st_ino;
}

struct wanted {
	pid_t pid;
	size_t seen;
	bool found;
};

static bool look(void *context, struct procview *view)
{
	struct wanted *wanted = context;

	wanted->seen++;
	wanted->found = view->pid == wanted->pid;
	return !wanted->found;
}

static bool lives_here(pid_t pid)
{
	struct wanted wanted = {.pid = pid};

	assert_int_equal(residents_each(&residents, own_namespace(), look, &wanted), 0);
	return wanted.found;
}

static void who_is_in_a_namespace(void **state)
{
	struct wanted nobody = {0};

	(void)state;
	assert_true(lives_here(getpid()));
	assert_int_equal(residents_each(&residents, 1, look, &nobody), 0);
	assert_int_equal(nobody.seen, 0);
}

/* What was learned is kept, but who has ended since is not shown. */
static void until_it_is_forgotten(void **state)
{
	pid_t child;

	(void)state;
	assert_true(lives_here(getpid()));
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_false(lives_here(child));
	residents_forget(&residents);
	assert_true(lives_here(child));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(lives_here(child));
}

static void a_file_as_a_process_has_it(void **state)
{
	static struct procview view;
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat wanted, found;

	(void)state;
	assert_true(procview_open(&view, proc_fd, getpid()));
	int fd = residents_open_file(&view, "/bin/sh");
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(stat("/bin/sh", &wanted), 0);
	assert_true(found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev);
	close(fd);
	assert_int_equal(residents_open_file(&view, "/bin/none"), -ENOENT);
	assert_int_equal(residents_open_file(&view, "/bin"), -ENOENT);
	procview_close(&view);
	close(proc_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(who_is_in_a_namespace, teardown),
		cmocka_unit_test_teardown(until_it_is_forgotten, teardown),
		cmocka_unit_test_teardown(a_file_as_a_process_has_it, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
