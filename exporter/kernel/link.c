/* bpf(BPF_LINK_CREATE) and perf_event_open(2) for uprobes. */
#include "kernel/link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

/* The part of union bpf_attr for BPF_LINK_CREATE with uprobe_multi; the kernel accepts a prefix. */
struct link_create_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid;
	uint32_t zero;
};

/* The same with perf_event. */
struct link_create_perf {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t cookie;
};

#define MULTI_FLAG_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

static int bpf_call(int command, void *attr, size_t size)
{
	long result = syscall(SYS_bpf, command, attr, size);

	return result < 0 ? -errno : (int)result;
}

static uint64_t address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

int link_multi(int prog_fd, int attach_type, const struct link_sites *sites, int at_return)
{
	struct link_create_multi attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = (uint32_t)attach_type,
		.path = address(sites->path),
		.offsets = address(sites->offsets),
		.cookies = address(sites->cookies),
		.ref_ctr_offsets = address(sites->semaphores),
		.cnt = (uint32_t)sites->n,
		.multi_flags = at_return ? MULTI_FLAG_RETURN : 0,
		.pid = (uint32_t)sites->pid,
	};

	return bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int link_perf_pmu_type(void)
{
	_cleanup_close_ int fd =
		open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return -EIO;
	int type;
	return sscanf(text, "%d", &type) == 1 ? type : -EIO;
}

/* Bit of attr.config that makes the event a return probe (…/uprobe/format/retprobe: config:0). */
#define PERF_CONFIG_RETPROBE 1
/* …/uprobe/format/ref_ctr_offset: config:32-63. */
#define PERF_CONFIG_SEMAPHORE_SHIFT 32

static int perf_open(const struct link_sites *sites, size_t at, int at_return)
{
	int type = link_perf_pmu_type();
	uint64_t semaphore = sites->semaphores ? sites->semaphores[at] : 0;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		.config = semaphore << PERF_CONFIG_SEMAPHORE_SHIFT |
			  (at_return ? PERF_CONFIG_RETPROBE : 0),
		.config1 = address(sites->path),
		.config2 = sites->offsets[at],
	};

	if (type < 0)
		return type;
	if (semaphore > UINT32_MAX)
		return -ERANGE;
	/* An event needs a process or a CPU; the breakpoint is there on all CPUs either way. */
	pid_t pid = sites->pid ? sites->pid : -1;
	int cpu = sites->pid ? -1 : 0;
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

int link_perf(int prog_fd, const struct link_sites *sites, size_t at, int at_return, int fds[2])
{
	int event_fd = perf_open(sites, at, at_return);

	if (event_fd < 0)
		return event_fd;
	struct link_create_perf attr = {
		.prog_fd = (uint32_t)prog_fd,
		.target_fd = (uint32_t)event_fd,
		.attach_type = BPF_PERF_EVENT,
		.cookie = sites->cookies[at],
	};
	int link_fd = bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link_fd < 0) {
		close(event_fd);
		return link_fd;
	}
	fds[0] = link_fd;
	fds[1] = event_fd;
	return 0;
}

int link_tracepoint(int prog_fd)
{
	struct {
		uint64_t name;
		uint32_t prog_fd, zero;
	} attr = {.prog_fd = (uint32_t)prog_fd};

	return bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}
