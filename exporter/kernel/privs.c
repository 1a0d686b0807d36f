/* Capabilities, sysctls and limits, read from where the kernel keeps them. */
#include "kernel/privs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

bool privs_has(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective & (1U << (capability % 32));
}

unsigned long privs_raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	rlim_t before = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) ? before : limit.rlim_cur;
}

long privs_read_number(const char *path, long fallback)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "", *end;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return fallback;
	long value = strtol(text, &end, 10);
	return end == text ? fallback : value;
}

/* The value of a `Name:\tvalue` line of /proc/self/status, as a number; -1 if absent. */
static long status_number(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long value = -1;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		size_t length = strlen(name);
		if (!strncmp(line, name, length) && line[length] == ':')
			value = strtol(line + length + 1, NULL, 10);
	}
	fclose(file);
	return value;
}

static bool has_filter(void)
{
	return status_number("Seccomp") > 0;
}

/* What the kernel says of this process is true of other people's filters until there is our own. */
static enum { ASK_KERNEL, NOT_BEFORE, BEFORE } others_filter = ASK_KERNEL;

void privs_expect_own_filter(void)
{
	if (others_filter == ASK_KERNEL)
		others_filter = has_filter() ? BEFORE : NOT_BEFORE;
}

bool privs_under_seccomp(void)
{
	return others_filter == ASK_KERNEL ? has_filter() : others_filter == BEFORE;
}

bool privs_in_user_namespace(void)
{
	char link[64] = "";

	/* The initial user namespace always has this inode (PROC_USER_INIT_INO). */
	if (readlink("/proc/self/ns/user", link, sizeof(link) - 1) <= 0)
		return false;
	return strcmp(link, "user:[4026531837]") != 0;
}

struct needed {
	int capability;
	const char *name, *why;
};

/* What each tier cannot do without; CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON as well. */
static const struct needed needs[] = {
	{CAP_BPF, "CAP_BPF", "load BPF programs and create maps"},
	{CAP_PERFMON, "CAP_PERFMON", "attach tracing programs"},
};

static int put_missing(struct strbuf *out, enum tier tier)
{
	int missing = 0;

	if (privs_has(CAP_SYS_ADMIN))
		return 0;
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (!privs_has(needs[i].capability))
			strbuf_printf(out, "%s%s (to %s)", missing++ ? ", " : "missing ",
				      needs[i].name, needs[i].why);
	if (tier == TIER_PERF)
		strbuf_printf(out, "%sCAP_SYS_ADMIN (the kernel wants it for perf-event uprobes)",
			      missing++ ? ", " : "missing ");
	return missing;
}

static void explain_permission(enum tier tier, struct strbuf *out)
{
	if (put_missing(out, tier)) {
		strbuf_puts(out, "; run as root or grant them");
	} else if (privs_in_user_namespace()) {
		strbuf_puts(out, "the capabilities are those of a user namespace: the kernel wants "
				 "them in the initial one (run on the host, or without userns "
				 "remapping)");
	} else if (privs_under_seccomp()) {
		strbuf_puts(out,
			    "a seccomp profile of this process refuses the call: allow bpf and "
			    "perf_event_open");
	} else {
		strbuf_puts(out, "refused although the capabilities are there: see kernel lockdown "
				 "(/sys/kernel/security/lockdown), LSM policy and RLIMIT_MEMLOCK");
	}
}

void privs_explain(enum tier tier, int error, struct strbuf *out)
{
	switch (-error) {
	case EPERM:
	case EACCES:
		explain_permission(tier, out);
		break;
	case ENOSYS:
		strbuf_puts(out, privs_under_seccomp()
					 ? "blocked by the seccomp profile of this process: allow "
					   "bpf and perf_event_open"
					 : "the kernel is built without bpf(2)");
		break;
	case ESRCH:
		strbuf_puts(out, access("/sys/kernel/btf/vmlinux", R_OK)
					 ? "no kernel BTF at /sys/kernel/btf/vmlinux "
					   "(CONFIG_DEBUG_INFO_BTF, or mount /sys)"
					 : "the kernel lacks a symbol the programs need");
		break;
	case ENOMEM:
		strbuf_puts(out, "no memory: see the cgroup's limit, RLIMIT_MEMLOCK and "
				 "limits.series");
		break;
	case EMFILE:
	case ENFILE:
		strbuf_puts(out, "too many open files: raise RLIMIT_NOFILE");
		break;
	case EINVAL:
	case ENOTSUP:
		strbuf_puts(out, "the kernel does not know this kind of program or link");
		break;
	default:
		strbuf_puts(out, strerror(-error));
	}
}

bool privs_in_initial_pid_namespace(void)
{
	char link[64] = "";

	return readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0 &&
	       !strcmp(link, "pid:[4026531836]"); /* PROC_PID_INIT_INO */
}
