/* A folder that looks like /proc, for the tests of what reads it. */
#ifndef TESTS_TARGET_FAKE_PROC_H
#define TESTS_TARGET_FAKE_PROC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

struct fake_proc {
	char folder[32];
	int fd;
};

static inline void fake_proc_init(struct fake_proc *proc)
{
	strcpy(proc->folder, "/tmp/fake_proc.XXXXXX");
	assert_non_null(mkdtemp(proc->folder));
	proc->fd = open(proc->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc->fd >= 0);
}

static inline void fake_remove(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

static inline void fake_proc_fini(struct fake_proc *proc)
{
	close(proc->fd);
	fake_remove(proc->folder);
}

/* Write folder/pid/name. */
static inline void fake_write(const struct fake_proc *proc, int pid, const char *name,
			      const char *bytes, size_t length)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%d/%s", proc->folder, pid, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

/* What is left out is that of an ordinary process. */
struct fake_process {
	int pid, ppid, tgid; /* tgid 0: the pid */
	const char *comm, *exe, *cgroup;
	const char *cmdline; /* arguments parted by blanks */
	unsigned uid, start, flags, threads;
	char state;
};

static inline void fake_stat(const struct fake_proc *proc, const struct fake_process *of)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "%d (%s) %c %d 1 1 0 -1 %u 1 2 3 4 5 6 7 8 20 0 %u 0 %u 99 100 %s\n",
			 of->pid, of->comm, of->state ? of->state : 'S', of->ppid,
			 of->flags ? of->flags : 0x400100, of->threads ? of->threads : 1, of->start,
			 "18446744073709551615 0 0 0");

	fake_write(proc, of->pid, "stat", text, (size_t)n);
}

static inline void fake_status(const struct fake_proc *proc, const struct fake_process *of)
{
	char text[512];
	int n = snprintf(
		text, sizeof(text),
		"Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\n"
		"Pid:\t%d\nPPid:\t%d\nTracerPid:\t0\nUid:\t77\t%u\t78\t79\nGid:\t0\t0\t0\t0\n",
		"x", of->tgid ? of->tgid : of->pid, of->pid, of->ppid, of->uid);

	fake_write(proc, of->pid, "status", text, (size_t)n);
}

static inline void fake_add(const struct fake_proc *proc, struct fake_process of)
{
	char path[64], text[5000];
	int n;

	if (!of.comm)
		of.comm = "plain";
	snprintf(path, sizeof(path), "%s/%d", proc->folder, of.pid);
	assert_int_equal(mkdir(path, 0755), 0);
	fake_stat(proc, &of);
	fake_status(proc, &of);
	n = snprintf(text, sizeof(text), "%s\n", of.comm);
	fake_write(proc, of.pid, "comm", text, (size_t)n);
	n = snprintf(text, sizeof(text), "0::%s\n", of.cgroup ? of.cgroup : "/");
	fake_write(proc, of.pid, "cgroup", text, (size_t)n);
	n = snprintf(text, sizeof(text), "%s", of.cmdline ? of.cmdline : "plain");
	for (int i = 0; i < n; i++)
		if (text[i] == ' ')
			text[i] = '\0';
	fake_write(proc, of.pid, "cmdline", text, (size_t)n + 1);
	snprintf(path, sizeof(path), "%s/%d/exe", proc->folder, of.pid);
	assert_int_equal(symlink(of.exe ? of.exe : "/bin/plain", path), 0);
}

static inline void fake_drop(const struct fake_proc *proc, int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%d", proc->folder, pid);
	fake_remove(path);
}

#define FAKE(proc, ...) fake_add((proc), (struct fake_process){__VA_ARGS__})

#endif
