/* Capabilities by capset(2) and prctl(2), see capabilities(7); then the filter. */
#include "confine.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/privs.h"

/* A sanitizer's runtime makes calls of its own: it traces threads, maps shadow memory, executes a
 * symbolizer. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#endif

#ifndef SANITIZED
#define SANITIZED false
#endif

#define BIT(capability) (UINT64_C(1) << (capability))

/*
 * Loading and attaching what a reload or a new file asks for; seeing the processes of other users
 * (PTRACE: /proc/PID/maps, exe and root); reading programs that only their owner may read.
 */
static const uint64_t running =
	BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);

int confine_parse(const char *name, enum confine_level *level)
{
	static const char *const names[] = {
		[CONFINE_ALL] = "all",
		[CONFINE_CAPABILITIES] = "capabilities",
		[CONFINE_NONE] = "none",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i])) {
			*level = (enum confine_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int get_permitted(uint64_t *permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

/* Effective and permitted; nothing is inheritable, hence nothing ambient either. */
static int set_permitted(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	for (int half = 0; half < 2; half++)
		data[half].effective = data[half].permitted = (uint32_t)(keep >> 32 * half);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/*
 * CAP_SYS_ADMIN is what the kernel wants for the perf events of uprobes, and what stands for
 * CAP_BPF and CAP_PERFMON in a process that was not given these.
 */
static uint64_t kept(uint64_t permitted, enum tier tier)
{
	const uint64_t split = BIT(CAP_BPF) | BIT(CAP_PERFMON);
	bool admin = tier == TIER_PERF || (permitted & split) != split;

	return permitted & (running | (admin ? BIT(CAP_SYS_ADMIN) : 0));
}

/* Only CAP_SETPCAP may; without it the set limits nothing more, as nothing is executed any more. */
static int limit_bounding_set(uint64_t keep)
{
	for (int capability = 0; capability < 64; capability++) {
		if (keep & BIT(capability))
			continue;
		int there = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
		if (there < 0)
			return 0; /* past the last that the kernel knows */
		if (there && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			return -errno;
	}
	return 0;
}

static int drop_capabilities(enum tier tier)
{
	uint64_t permitted = 0;
	int result = get_permitted(&permitted);

	if (result)
		return result;
	uint64_t keep = kept(permitted, tier);
	if (permitted & BIT(CAP_SETPCAP)) {
		result = limit_bounding_set(keep);
		if (result)
			return result;
	}
	/* Kernels that know no ambient set have none to clear. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	result = set_permitted(keep);
	if (result)
		return result;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

struct confinement confine(enum confine_level level, enum tier tier, bool local_sockets)
{
	struct confinement done = {0};
	int result;

	if (level == CONFINE_NONE)
		return done;
	result = drop_capabilities(tier);
	done.capabilities = !result;
	if (result)
		log_warn("cannot drop privileges", LOG_STR("error", strerror(-result)));
	if (level == CONFINE_CAPABILITIES || SANITIZED)
		return done;
	privs_expect_own_filter();
	result = confine_calls(local_sockets);
	done.syscalls = !result;
	if (result)
		log_warn("cannot filter system calls", LOG_STR("error", strerror(-result)));
	return done;
}

/* What a child's step comes to; its errno is its exit status. */
static int in_child(int (*step)(enum tier), enum tier tier)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-step(tier));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM; /* killed: by a filter on us */
}

static int filter_too(enum tier tier)
{
	int result = drop_capabilities(tier);

	return result ? result : confine_calls(true);
}

struct confine_trial confine_try(enum tier tier)
{
	return (struct confine_trial){
		.capabilities = in_child(drop_capabilities, tier),
		.syscalls = SANITIZED ? 0 : in_child(filter_too, tier),
		.filters = !SANITIZED,
	};
}

void confine_put_kept(struct strbuf *out, enum tier tier)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{CAP_BPF, "CAP_BPF"},
		{CAP_PERFMON, "CAP_PERFMON"},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
		{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	};
	uint64_t permitted = 0;
	const char *before = "";

	get_permitted(&permitted);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(kept(permitted, tier) & BIT(names[i].number)))
			continue;
		strbuf_printf(out, "%s%s", before, names[i].name);
		before = " ";
	}
}
