/* In a child that confines itself: what is refused, what goes on working. */
#include "confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The status of a child that runs `step` under the filter; 99: there is no filter. */
static int confined(int (*step)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(confine_calls(true) ? 99 : step());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct call {
	long number;
	long arguments[6];
};

#define TEXT(text) ((long)(text))
#define RWX	   (PROT_READ | PROT_WRITE | PROT_EXEC)

static const char *const nothing[] = {NULL};

static const struct call refused[] = {
	{SYS_execve, {TEXT("/bin/true"), TEXT(nothing), TEXT(nothing)}},
	{SYS_execveat, {AT_FDCWD, TEXT("/bin/true"), TEXT(nothing), TEXT(nothing), 0}},
	{SYS_ptrace, {PTRACE_TRACEME}},
	{SYS_process_vm_readv, {1}},
	{SYS_process_vm_writev, {1}},
	{SYS_mount, {TEXT("none"), TEXT("/nowhere"), TEXT("tmpfs")}},
	{SYS_umount2, {TEXT("/nowhere")}},
	{SYS_chroot, {TEXT("/")}},
	{SYS_pivot_root, {TEXT("/"), TEXT("/")}},
	{SYS_setuid, {0}},
	{SYS_setresuid, {0, 0, 0}},
	{SYS_setgid, {0}},
	{SYS_setgroups, {0}},
	{SYS_capset, {0}},
	{SYS_init_module, {0}},
	{SYS_finit_module, {-1}},
	{SYS_delete_module, {TEXT("nothing")}},
	{SYS_kexec_load, {0, 0, 0, 0}},
	{SYS_reboot, {0}},
	{SYS_keyctl, {KEYCTL_GET_KEYRING_ID, -3}},
	{SYS_unshare, {CLONE_NEWNET}},
	{SYS_unshare, {0}},
	{SYS_setns, {-1, 0}},
	{SYS_personality, {0xffffffff}},
	{SYS_io_uring_setup, {1, 0}},
	{SYS_userfaultfd, {0}},
	{SYS_pidfd_getfd, {-1, 0, 0}},
	{SYS_pidfd_send_signal, {-1, SIGTERM, 0, 0}},
	{SYS_memfd_create, {TEXT("code"), 0}},
	{SYS_socket, {AF_PACKET, SOCK_RAW}},
	{SYS_socket, {AF_NETLINK, SOCK_RAW}},
	{SYS_socket, {AF_INET, SOCK_STREAM}},
	{SYS_bind, {-1, 0, 0}},
	{SYS_openat, {AT_FDCWD, TEXT("/dev/null"), O_WRONLY}},
	{SYS_openat, {AT_FDCWD, TEXT("/dev/null"), O_RDWR}},
	{SYS_openat, {AT_FDCWD, TEXT("/dev/null"), O_RDONLY | O_CREAT, 0600}},
	{SYS_openat, {AT_FDCWD, TEXT("/dev/null"), O_RDONLY | O_TRUNC}},
	{SYS_openat, {AT_FDCWD, TEXT("/tmp"), O_TMPFILE | O_RDWR, 0600}},
	{SYS_openat, {AT_FDCWD, TEXT("/dev/null"), O_ACCMODE}},
	{SYS_unlinkat, {AT_FDCWD, TEXT("/nowhere/file"), 0}},
	{SYS_renameat2, {AT_FDCWD, TEXT("/nowhere/a"), AT_FDCWD, TEXT("/nowhere/b"), 0}},
	{SYS_fchmodat, {AT_FDCWD, TEXT("/nowhere/file"), 0}},
	{SYS_truncate, {TEXT("/nowhere/file"), 0}},
	{SYS_mmap, {0, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
	{SYS_mmap, {0, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
	{SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}},
	{SYS_mprotect, {0, 4096, RWX}},
	{SYS_clone, {SIGCHLD, 0, 0, 0, 0}},
	{SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0}},
	{SYS_clone, {CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_NEWNET, 0, 0, 0, 0}},
	{SYS_kill, {1, SIGTERM}},
	{SYS_tgkill, {1, 1, 0}},
	{SYS_ioctl, {0, TIOCSTI, TEXT("x")}},
	{SYS_prctl, {PR_SET_DUMPABLE, 1}},
	{SYS_prctl, {PR_SET_SECCOMP, 0}},
	{SYS_seccomp, {0, 0, 0}},
};

static long make(const struct call *call)
{
	const long *a = call->arguments;

	return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int try_refused(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (make(&refused[i]) != -1 || errno != EPERM)
			return (int)i + 1;
	return 0;
}

/* The children's status is the place in the table, from 1. */
static void test_refused(void **state)
{
	(void)state;
	int at = confined(try_refused);
	if (at)
		fail_msg("no. %d of the table was not refused", at);
}

/* A limit is one that can be set only here. */
static int try_set_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit))
		return 1;
	return setrlimit(RLIMIT_CORE, &limit) == -1 && errno == EPERM ? 0 : 2;
}

static void test_limits_are_read_only(void **state)
{
	(void)state;
	assert_int_equal(confined(try_set_limit), 0);
}

static void test_local_sockets_only_where_needed(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (confine_calls(false))
			_exit(99);
		_exit(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS ? 0 : 1;
}

static void test_clone3_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(confined(try_clone3), 0);
}

static const struct call allowed[] = {
	{SYS_openat, {AT_FDCWD, TEXT("/proc/self/status"), O_RDONLY | O_CLOEXEC}},
	{SYS_openat, {AT_FDCWD, TEXT("/"), O_PATH | O_DIRECTORY}},
	{SYS_openat, {AT_FDCWD, TEXT("/"), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY}},
	{SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0}},
	{SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
	{SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
	{SYS_eventfd2, {0, 0}},
	{SYS_epoll_create1, {0}},
	{SYS_timerfd_create, {1, 0}},
	{SYS_write, {2, TEXT(""), 0}},
};

static int try_allowed(void)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		if (make(&allowed[i]) == -1)
			return (int)i + 1;
	return kill(getpid(), 0) ? 98 : 0;
}

static void test_allowed(void **state)
{
	(void)state;
	int at = confined(try_allowed);
	if (at)
		fail_msg("no. %d of the table was refused", at);
}

static int try_abort(void)
{
	signal(SIGABRT, _exit); /* the status is the signal's number */
	raise(SIGABRT);
	return 1;
}

static void test_abort(void **state)
{
	(void)state;
	assert_int_equal(confined(try_abort), SIGABRT);
}

/* ---- capabilities ---- */

static int try_drop(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct before[2], after[2];

	if (syscall(SYS_capget, &header, before))
		return 1;
	if (!confine(CONFINE_CAPABILITIES, TIER_SESSION, true).capabilities)
		return 2;
	if (syscall(SYS_capget, &header, after))
		return 3;
	if (after[0].inheritable || after[1].inheritable)
		return 4;
	if (after[0].permitted & ~before[0].permitted || after[1].permitted & ~before[1].permitted)
		return 5;
	if (after[0].effective & (1U << CAP_SYS_MODULE | 1U << CAP_NET_ADMIN | 1U << CAP_SETUID))
		return 6;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 7;
}

static void test_drop(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(try_drop());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What it would come to is tried elsewhere: this process is as it was. */
static void test_try(void **state)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct before[2], after[2];

	(void)state;
	assert_int_equal(syscall(SYS_capget, &header, before), 0);
	struct confine_trial trial = confine_try(TIER_SESSION);
	assert_int_equal(trial.capabilities, 0);
	assert_int_equal(trial.syscalls, 0);
	assert_false(trial.filters); /* these tests are built with a sanitizer */
	assert_int_equal(syscall(SYS_capget, &header, after), 0);
	assert_memory_equal(before, after, sizeof(before));
	assert_int_equal(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
}

/* Capabilities cannot be had from a filter that refuses them. */
static int try_under_a_filter(void)
{
	return -confine_try(TIER_SESSION).capabilities;
}

static void test_try_tells_what_fails(void **state)
{
	(void)state;
	assert_int_equal(confined(try_under_a_filter), EPERM);
}

static void test_levels(void **state)
{
	enum confine_level level = CONFINE_ALL;

	(void)state;
	assert_int_equal(confine_parse("none", &level), 0);
	assert_int_equal(level, CONFINE_NONE);
	assert_int_equal(confine_parse("capabilities", &level), 0);
	assert_int_equal(level, CONFINE_CAPABILITIES);
	assert_int_equal(confine_parse("all", &level), 0);
	assert_int_equal(level, CONFINE_ALL);
	assert_int_equal(confine_parse("", &level), -EINVAL);
	assert_int_equal(confine_parse("ALL", &level), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits_are_read_only),
		cmocka_unit_test(test_local_sockets_only_where_needed),
		cmocka_unit_test(test_clone3_is_unknown),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_try),
		cmocka_unit_test(test_try_tells_what_fails),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
