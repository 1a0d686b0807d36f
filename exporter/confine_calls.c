/*
 * The system calls of the running daemon, by purpose (libseccomp). All others fail with EPERM, so
 * that what is forgotten here is a feature that fails, with a reason, and not a daemon that dies.
 *
 * What a filter cannot see is behind pointers: openat2's flags among them. That one call could open
 * a file for writing; its users here open O_PATH and below a process's root.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NUMBER(name) SCMP_SYS(name)

static const int plain[] = {
	/* reading files, pipes, timers; writing the log and eventfds */
	NUMBER(read), NUMBER(readv), NUMBER(pread64), NUMBER(preadv), NUMBER(write), NUMBER(writev),
	NUMBER(lseek), NUMBER(_llseek), NUMBER(close), NUMBER(fcntl), NUMBER(fcntl64), NUMBER(dup),
	NUMBER(dup3), NUMBER(fadvise64),
	/* finding files; openat2 stays below another process's root */
	NUMBER(openat2), NUMBER(getdents64), NUMBER(readlink), NUMBER(readlinkat), NUMBER(stat),
	NUMBER(lstat), NUMBER(fstat), NUMBER(newfstatat), NUMBER(statx), NUMBER(statfs),
	NUMBER(fstatfs), NUMBER(access), NUMBER(faccessat), NUMBER(faccessat2), NUMBER(getcwd),
	/* probes: after a reload, an upgrade, a start of a process */
	NUMBER(bpf), NUMBER(perf_event_open), NUMBER(pidfd_open),
#ifdef __x86_64__
	335, /* uretprobe(2): the kernel's own, when somebody probes returns in what we map */
	336, /* uprobe(2): asks whether it is there, see nop5.c */
#endif
	/* the loop, and libmicrohttpd's */
	NUMBER(epoll_create1), NUMBER(epoll_ctl), NUMBER(epoll_wait), NUMBER(epoll_pwait),
	NUMBER(epoll_pwait2), NUMBER(poll), NUMBER(ppoll), NUMBER(select), NUMBER(pselect6),
	NUMBER(eventfd2), NUMBER(timerfd_create), NUMBER(timerfd_settime),
	/* connections: of clients, and to what answers getpwnam and to the service manager */
	NUMBER(accept), NUMBER(accept4), NUMBER(recvfrom), NUMBER(recvmsg), NUMBER(sendto),
	NUMBER(sendmsg), NUMBER(sendmmsg), NUMBER(sendfile), NUMBER(shutdown), NUMBER(connect),
	NUMBER(getsockname), NUMBER(getpeername), NUMBER(getsockopt), NUMBER(setsockopt),
	/* memory */
	NUMBER(brk), NUMBER(munmap), NUMBER(mremap), NUMBER(madvise),
	/* threads and signals, as far as they are one's own */
	NUMBER(futex), NUMBER(set_robust_list), NUMBER(rseq), NUMBER(exit), NUMBER(exit_group),
	NUMBER(rt_sigaction), NUMBER(rt_sigprocmask), NUMBER(rt_sigreturn), NUMBER(sigaltstack),
	NUMBER(restart_syscall), NUMBER(sched_yield), NUMBER(sched_getaffinity),
	/* clocks, numbers, who one is */
	NUMBER(clock_gettime), NUMBER(clock_getres), NUMBER(clock_nanosleep), NUMBER(nanosleep),
	NUMBER(gettimeofday), NUMBER(time), NUMBER(getrandom), NUMBER(getpid), NUMBER(gettid),
	NUMBER(getppid), NUMBER(getuid), NUMBER(geteuid), NUMBER(getgid), NUMBER(getegid),
	NUMBER(capget), NUMBER(uname), NUMBER(sysinfo), NUMBER(getrusage), NUMBER(getcpu)};

struct limited {
	int call;
	unsigned argument; /* allowed when this one, with `mask`, is `value` */
	scmp_datum_t mask, value;
};

#define WHOLE	  (~(scmp_datum_t)0)
#define WORD	  0xffffffffU /* the kernel takes an int: what is above may be anything */
#define PROTECTED ((scmp_datum_t)(PROT_WRITE | PROT_EXEC))

/* No file is opened for writing or made: writing needs one of these, O_TMPFILE included. */
#define CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)
/* A new thread, not a new process, and in no namespace of its own. */
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define THREAD ((scmp_datum_t)(CLONE_THREAD | CLONE_VM))

static const struct limited limited[] = {
	{NUMBER(openat), 2, CHANGES, 0},
	{NUMBER(open), 1, CHANGES, 0},
	/* no memory that is both written and executed, in one step or in two */
	{NUMBER(mmap), 2, PROTECTED, 0},
	{NUMBER(mmap), 2, PROTECTED, PROT_WRITE},
	{NUMBER(mmap), 2, PROTECTED, PROT_EXEC},
	{NUMBER(mprotect), 2, PROT_EXEC, 0},
	{NUMBER(clone), 0, THREAD | NEW_NAMESPACES, THREAD},
	/* limits are asked for, not set */
	{NUMBER(prlimit64), 2, WHOLE, 0},
	/* is that process there? */
	{NUMBER(kill), 1, WORD, 0},
	{NUMBER(prctl), 0, WORD, PR_SET_NAME},
	{NUMBER(prctl), 0, WORD, PR_GET_NAME},
	{NUMBER(prctl), 0, WORD, PR_CAPBSET_READ}, /* libcap, under some answerers of getpwnam */
#ifdef PR_SET_VMA
	{NUMBER(prctl), 0, WORD, PR_SET_VMA}, /* glibc names its memory so */
#endif
	{NUMBER(ioctl), 1, WORD, PERF_EVENT_IOC_SET_BPF},
	{NUMBER(ioctl), 1, WORD, PERF_EVENT_IOC_ENABLE},
	{NUMBER(ioctl), 1, WORD, PERF_EVENT_IOC_DISABLE},
	{NUMBER(ioctl), 1, WORD, PERF_EVENT_IOC_ID},
	{NUMBER(ioctl), 1, WORD, TCGETS}, /* stdio: is this a terminal? */
	{NUMBER(ioctl), 1, WORD, FIONBIO},
	{NUMBER(ioctl), 1, WORD, FIONREAD},
};

/* The service manager's, and those of daemons that answer for /etc/passwd; servers have theirs. */
static const struct limited local_socket = {NUMBER(socket), 0, WORD, AF_UNIX};

static int allow_limited(scmp_filter_ctx filter, const struct limited *rule)
{
	const struct scmp_arg_cmp match = {rule->argument, SCMP_CMP_MASKED_EQ, rule->mask,
					   rule->value};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, 1, &match);
}

static int allow_all(scmp_filter_ctx filter, bool local_sockets)
{
	int result = 0;

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain) && !result; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, plain[i], 0);
	for (size_t i = 0; i < sizeof(limited) / sizeof(*limited) && !result; i++)
		result = allow_limited(filter, &limited[i]);
	if (!result && local_sockets)
		result = allow_limited(filter, &local_socket);
	/* abort(3): a signal to oneself */
	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, NUMBER(tgkill), 1,
					  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	/* Its flags cannot be seen: glibc then takes clone. */
	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), NUMBER(clone3), 0);
	return result;
}

int confine_calls(bool local_sockets)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return -ENOMEM;
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: many calls are allowed */
	result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!result)
		result = allow_all(filter, local_sockets);
	if (!result)
		result = seccomp_load(filter);
	seccomp_release(filter);
	return result;
}
