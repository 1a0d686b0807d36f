/*
 * One look at one process. Each fact is read from /proc when it is first asked for, and once; all
 * through one descriptor of /proc/PID, which goes on meaning this process when the pid is given to
 * another, so that facts are never of two processes. A process that ends meanwhile has no facts any
 * more; that is no error, and not said.
 *
 * A glance has no such descriptor, and reads a single fact at half the cost. Its facts may be of
 * two processes: they are good for passing by a process, not for deciding on one.
 *
 * Texts come from the process and may hold any bytes.
 */
#ifndef TARGET_PROCVIEW_H
#define TARGET_PROCVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "target/cgroup_path.h"

#define PROCVIEW_TEXT_BYTES 4096

struct procview_stat {
	pid_t ppid;
	uint64_t start_ticks; /* since boot, in units of sysconf(_SC_CLK_TCK) */
	bool kernel_thread;
	bool ended;    /* a zombie, and none of its threads goes on */
	char comm[64]; /* longer than 15 bytes for kernel threads only */
};

struct procview {
	pid_t pid;
	/* The rest is for the functions below. */
	int fd;	     /* of /proc/PID; -1: it is not there, or this is a glance */
	int proc_fd; /* of a glance: of /proc; else -1 */
	unsigned asked, known;
	bool leads, starved;
	uint64_t wanted_start; /* 0: any */
	const char *exe_name;  /* NULL: not told */
	pid_t thread;	       /* that is asked where the first one has ended; else 0 */
	struct procview_stat stat;
	pid_t tgid;
	uid_t uid;
	dev_t exe_dev;
	ino_t exe_ino, mount_ns;
	size_t exe_length, cmdline_length;
	struct cgroup_ids ids;
	char exe[PROCVIEW_TEXT_BYTES];
	char cmdline[PROCVIEW_TEXT_BYTES + 1];
	char cgroup[PROCVIEW_TEXT_BYTES];
};

/* `proc_fd` is a descriptor of /proc, or of a folder that looks like it. False: no such process. */
bool procview_open(struct procview *view, int proc_fd, pid_t pid);
void procview_glance(struct procview *view, int proc_fd, pid_t pid);
/* Make a glance a look, which begins without facts, if it is none; false: no such process now. */
bool procview_pin(struct procview *view);
bool procview_is_pinned(const struct procview *view);
void procview_close(struct procview *view);

/*
 * Whether it is a process that can be measured: there, not a kernel thread, not one thread of a
 * process, and not a zombie without living threads.
 */
bool procview_is_process(struct procview *view);
/* Its pid is known to be that of a process, not of a thread: that need not be asked. */
void procview_leads(struct procview *view);

/*
 * It has just started a program, the last part of whose path is told: with a NUL behind it within
 * `room` bytes, or cut to as many less one. Borrowed for as long as the view is in use.
 */
void procview_started(struct procview *view, const char *exe_name, size_t room);
/* Whether its executable may be at this path, by what was told; true where nothing was. */
bool procview_may_run(const struct procview *view, const char *path);

/*
 * It is the process that began at this time (procview_stat), or there is none: the time of its
 * start is looked at with its stat.
 */
void procview_expect_start(struct procview *view, uint64_t start_ticks);

/* A fact was not to be had for want of descriptors or memory: to be asked for again later. */
bool procview_is_starved(const struct procview *view);

/* What follows returns NULL or false for a fact that cannot be had, for lack of rights perhaps. */

const struct procview_stat *procview_stat(struct procview *view);
/* The name of its first thread, as prctl(PR_SET_NAME) sets it. */
const char *procview_comm(struct procview *view);
/* The effective user id. */
bool procview_uid(struct procview *view, uid_t *uid);
/*
 * The path of its executable as its own mount namespace has it, " (deleted)" removed: `length`
 * bytes. Where a file's name ends so, the text goes on behind these.
 */
const char *procview_exe(struct procview *view, size_t *length);
bool procview_exe_file(struct procview *view, dev_t *dev, ino_t *ino);
/*
 * The device as the kernel has it (target/mounts.h) of a file that stat(2) says is on `seen`: of
 * its executable, or of `fd`, which it finds in its root. False when it cannot be told.
 */
bool procview_exe_device(struct procview *view, dev_t seen, dev_t *device);
bool procview_file_device(struct procview *view, int fd, dev_t seen, dev_t *device);
/* Its arguments joined by blanks, at most PROCVIEW_TEXT_BYTES; a process may overwrite them. */
const char *procview_cmdline(struct procview *view, size_t *length);
/* The path of its cgroup, as cgroup_path_choose() has it; and what that tells. */
const char *procview_cgroup(struct procview *view);
const struct cgroup_ids *procview_ids(struct procview *view);

/* The number of its mount namespace; 0: it cannot be had. */
ino_t procview_mount_ns(struct procview *view);
/*
 * Whether this is its root directory. A service in a mount namespace of its own has that of the
 * host mostly, only mounted otherwise; a container has another.
 */
bool procview_has_root(struct procview *view, const struct stat *root);
bool procview_root_stat(struct procview *view, struct stat *root);
/* A descriptor of its root directory, the caller's to close; or -errno. */
int procview_root(struct procview *view);

/* Read the text of /proc/PID/stat; false if it is not such a text. */
bool procview_parse_stat(const char *text, size_t length, struct procview_stat *stat);

#endif
