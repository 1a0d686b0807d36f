/*
 * What is said when the kernel says no. Each explanation of a refusal is asked for in a child
 * that has given up the capabilities in question, so it needs root, or says less.
 */
#include "kernel/privs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BIT(capability) (1ULL << (capability))

/* Keep only these of the capabilities that are there. */
static void keep_only(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		_exit(90);
	for (int i = 0; i < 2; i++) {
		data[i].effective &= (uint32_t)(capabilities >> (32 * i));
		data[i].permitted = data[i].effective;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data))
		_exit(91);
}

/* A filter that lets everything pass is a filter all the same. */
static void filter_calls(uint64_t unused)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {.len = 1, .filter = allow};

	(void)unused;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(92);
}

static void filter_own_calls(uint64_t unused)
{
	privs_expect_own_filter();
	filter_calls(unused);
}

/* What is said of `error` in a child after `prepare`; `text` has room for 1024 bytes. */
static void explained(void (*prepare)(uint64_t), uint64_t argument, enum tier tier, int error,
		      char *text)
{
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (!child) {
		struct strbuf out = {0};
		if (prepare)
			prepare(argument);
		privs_explain(tier, -error, &out);
		ssize_t n = write(ends[1], out.text, out.length);
		_exit(n != (ssize_t)out.length);
	}
	close(ends[1]);
	ssize_t n = read(ends[0], text, 1023);
	text[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool may_do_anything(void)
{
	return privs_has(CAP_SYS_ADMIN) && privs_has(CAP_BPF) && privs_has(CAP_PERFMON);
}

static void missing_capabilities_are_named(void **state)
{
	char text[1024];

	(void)state;
	explained(keep_only, 0, TIER_MULTI, EPERM, text);
	assert_non_null(strstr(text, "missing CAP_BPF (to load BPF programs"));
	assert_non_null(strstr(text, ", CAP_PERFMON (to attach"));
	assert_null(strstr(text, "CAP_SYS_ADMIN"));
	assert_non_null(strstr(text, "run as root or grant them"));
	explained(keep_only, 0, TIER_PERF, EACCES, text);
	assert_non_null(strstr(text, "CAP_BPF"));
	assert_non_null(strstr(text, ", CAP_SYS_ADMIN (the kernel wants it"));
}

static void only_what_is_missing_is_named(void **state)
{
	char text[1024];

	(void)state;
	if (!may_do_anything())
		skip();
	explained(keep_only, BIT(CAP_BPF), TIER_SESSION, EPERM, text);
	assert_null(strstr(text, "CAP_BPF"));
	assert_non_null(strstr(text, "missing CAP_PERFMON"));
	explained(keep_only, BIT(CAP_PERFMON), TIER_SESSION, EPERM, text);
	assert_non_null(strstr(text, "missing CAP_BPF"));
	assert_null(strstr(text, "CAP_PERFMON"));
	explained(keep_only, BIT(CAP_BPF) | BIT(CAP_PERFMON), TIER_PERF, EPERM, text);
	assert_non_null(strstr(text, "missing CAP_SYS_ADMIN"));
	/* CAP_SYS_ADMIN stands for all of them: then it is something else. */
	explained(keep_only, BIT(CAP_SYS_ADMIN), TIER_PERF, EPERM, text);
	assert_null(strstr(text, "missing"));
}

static void seccomp_is_suspected_when_it_is_there(void **state)
{
	char text[1024];

	(void)state;
	explained(filter_calls, 0, TIER_MULTI, ENOSYS, text);
	assert_non_null(strstr(text, "seccomp profile"));
	if (privs_under_seccomp())
		return; /* the rest speaks of processes without one */
	explained(NULL, 0, TIER_MULTI, ENOSYS, text);
	assert_non_null(strstr(text, "built without bpf(2)"));
	if (!may_do_anything() || privs_in_user_namespace())
		return;
	explained(filter_calls, 0, TIER_MULTI, EPERM, text);
	assert_non_null(strstr(text, "a seccomp profile of this process refuses"));
	explained(NULL, 0, TIER_MULTI, EPERM, text);
	assert_non_null(strstr(text, "lockdown"));
}

static void the_own_filter_is_not_suspected(void **state)
{
	char text[1024];

	(void)state;
	explained(filter_own_calls, 0, TIER_MULTI, ENOSYS, text);
	assert_non_null(strstr(text, privs_under_seccomp() ? "seccomp profile" : "without bpf(2)"));
}

static const struct {
	int error;
	const char *part;
} others[] = {
	{ENOMEM, "limits.series"},
	{EMFILE, "RLIMIT_NOFILE"},
	{ENFILE, "RLIMIT_NOFILE"},
	{EINVAL, "does not know this kind of program or link"},
	{ENOTSUP, "does not know this kind of program or link"},
	{EIO, "Input/output error"},
};

static void other_errors_say_what_to_do(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		explained(NULL, 0, TIER_MULTI, others[i].error, text);
		assert_non_null(strstr(text, others[i].part));
	}
	explained(NULL, 0, TIER_MULTI, ESRCH, text);
	assert_non_null(strstr(text, access("/sys/kernel/btf/vmlinux", R_OK) ? "BTF" : "symbol"));
}

static void numbers_are_read_from_files(void **state)
{
	char name[] = "/tmp/privs_test-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(privs_read_number(name, 11), 11); /* empty */
	assert_int_equal(pwrite(fd, "-3\n", 3, 0), 3);
	assert_int_equal(privs_read_number(name, 11), -3);
	assert_int_equal(pwrite(fd, "off", 3, 0), 3);
	assert_int_equal(privs_read_number(name, 11), 11);
	close(fd);
	unlink(name);
	assert_int_equal(privs_read_number(name, 11), 11);
}

static void open_files_are_raised_to_the_hard_limit(void **state)
{
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(privs_raise_nofile(), before.rlim_max);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, before.rlim_max);
	setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_capabilities_are_named),
		cmocka_unit_test(only_what_is_missing_is_named),
		cmocka_unit_test(seccomp_is_suspected_when_it_is_there),
		cmocka_unit_test(the_own_filter_is_not_suspected),
		cmocka_unit_test(other_errors_say_what_to_do),
		cmocka_unit_test(numbers_are_read_from_files),
		cmocka_unit_test(open_files_are_raised_to_the_hard_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
