/* procview.c: what is known of a process of ours whose first thread has ended before the others. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/procview.h"

static struct procview view;

static void *go_on(void *ready)
{
	if (write(*(int *)ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

static pid_t start_headless(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, go_on, &ready[1]);
		syscall(SYS_exit, 0); /* of this thread alone */
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void wait_until_headless(pid_t child)
{
	char path[64], link;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
	while (readlink(path, &link, 1) > 0)
		usleep(1000);
	assert_int_equal(errno, ENOENT);
}

static void check_headless(pid_t child, const char *own)
{
	struct stat st, root;
	size_t length;
	dev_t dev;
	ino_t ino;

	assert_string_equal(procview_exe(&view, &length), own);
	assert_non_null(strstr(procview_cmdline(&view, &length), "procview_thread_test"));
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_true(procview_exe_file(&view, &dev, &ino) && ino == st.st_ino);
	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	assert_int_equal(procview_mount_ns(&view), st.st_ino);
	assert_int_equal(stat("/", &root), 0);
	assert_true(procview_has_root(&view, &root));
	int fd = procview_root(&view);
	assert_true(fd >= 0);
	close(fd);
	procview_leads(&view);
	assert_true(procview_is_process(&view));
	assert_int_equal(view.pid, child);
}

/* What its first thread has no more, the others have. */
static void whose_first_thread_has_ended(void **state)
{
	pid_t child = start_headless();
	int real = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char own[4096] = "";
	struct stat root;
	size_t length;

	(void)state;
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	wait_until_headless(child);
	assert_true(procview_open(&view, real, child));
	check_headless(child, own);
	procview_close(&view);
	procview_glance(&view, real, child);
	check_headless(child, own);
	procview_close(&view);
	assert_true(procview_open(&view, real, child)); /* whichever is asked for first */
	assert_non_null(strstr(procview_cmdline(&view, &length), "procview_thread_test"));
	procview_close(&view);
	assert_true(procview_open(&view, real, child));
	assert_true(procview_root_stat(&view, &root));
	procview_close(&view);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_first_thread_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
