/*
 * Links between programs and files: the raw system calls. libbpf 1.1 loads programs of every
 * tier but has no call for uprobe_multi and session links, so they are made here.
 */
#ifndef KERNEL_LINK_H
#define KERNEL_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* enum bpf_attach_type of include/uapi/linux/bpf.h; older headers lack these two. */
#define LINK_UPROBE_MULTI   48 /* BPF_TRACE_UPROBE_MULTI, kernel 6.6 */
#define LINK_UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION, kernel 6.13 */

struct link_sites {
	const char *path;	    /* of the file; /proc/self/fd/N is fine */
	const uint64_t *offsets;    /* n file offsets */
	const uint64_t *cookies;    /* n */
	const uint64_t *semaphores; /* n, file offsets of counters that the kernel raises while the
				     * site is probed; 0: none. NULL: none at all */
	size_t n;
	pid_t pid; /* only this process; 0: every process */
};

/*
 * One link over all sites. `attach_type` is what the program was loaded with; `at_return` asks
 * for the return direction (multi only). The new descriptor, or -errno; the kernel answers with
 * one error for all sites when it refuses one.
 */
int link_multi(int prog_fd, int attach_type, const struct link_sites *sites, int at_return);

/*
 * A perf event over the site sites->offsets[at], with the program linked to it: 0 with two
 * descriptors to close (link first), or -errno.
 */
int link_perf(int prog_fd, const struct link_sites *sites, size_t at, int at_return, int fds[2]);

/* Whether the kernel has the perf PMU `uprobe`; its type number, or -errno. */
int link_perf_pmu_type(void);

/* A raw tracepoint program (tp_btf): the descriptor, or -errno. */
int link_tracepoint(int prog_fd);

#endif
