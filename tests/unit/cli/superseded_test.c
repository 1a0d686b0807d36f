/* superseded.c: the processes that a file in a container is kept for. */
#include "tests/unit/target/fake_proc.h"

#include "superseded.h"

enum { BEYOND_PIDS = 5000000 }; /* no process has such a number */

static struct fake_proc proc;
static struct superseded file;

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&proc);
	file = (struct superseded){.fd = -1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	superseded_fini(&file);
	fake_proc_fini(&proc);
	return 0;
}

static void add(int proc_fd, pid_t pid)
{
	static struct procview view;

	assert_true(procview_open(&view, proc_fd, pid));
	superseded_add_user(&file, &view);
	procview_close(&view);
}

static bool has(pid_t pid)
{
	for (size_t i = 0; i < file.users.n; i++)
		if (file.users.at[i].pid == pid)
			return true;
	return false;
}

static void one_process_is_one_user(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 10, .start = 1);
	add(proc.fd, 10);
	add(proc.fd, 10);
	assert_int_equal(file.users.n, 1);
	fake_drop(&proc, 10);
	FAKE(&proc, .pid = 10, .start = 2); /* the number's next process */
	add(proc.fd, 10);
	assert_int_equal(file.users.n, 2);
}

/* A container that starts processes for ever. */
static void ended_ones_do_not_pile_up(void **state)
{
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t most = 0;

	(void)state;
	add(real, getpid());
	for (int i = 0; i < 1000; i++) {
		FAKE(&proc, .pid = BEYOND_PIDS + i, .start = 1);
		add(proc.fd, BEYOND_PIDS + i);
		fake_drop(&proc, BEYOND_PIDS + i);
		most = file.users.n > most ? file.users.n : most;
	}
	close(real);
	assert_true(has(getpid()));
	assert_in_range(most, 2, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_process_is_one_user, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_ones_do_not_pile_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
