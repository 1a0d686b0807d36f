/* Who maps a file: one look through /proc for all files of a plan. */
#ifndef TARGET_PROC_H
#define TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* One mapping of a process. */
struct proc_mapping {
	bool executable;
	dev_t dev;
	ino_t ino;	  /* 0: of no file */
	const char *path; /* as maps shows it: newlines as \012, perhaps with " (deleted)"; or "" */
};

struct proc_mapped {
	dev_t dev;
	ino_t ino;
	const char *path; /* told apart by it where maps shows another device (btrfs, overlayfs) */
	uint32_t processes; /* out: that map it executable */
	uint32_t programs;  /* out: distinct programs among them */
};

/*
 * Count for every file who maps it now. Processes that end meanwhile or may not be looked at are
 * passed over, so without privilege the counts are low.
 */
void proc_count(struct proc_mapped *files, size_t n);

/* Whether the process maps the file executable now. */
bool proc_maps(pid_t pid, dev_t dev, ino_t ino, const char *path);

/* Show each mapping of the process. */
typedef void proc_mapping_visit(void *context, const struct proc_mapping *mapping);
void proc_visit(pid_t pid, proc_mapping_visit *visit, void *context);

/* At most `room` processes that run the program with these numbers: how many. */
size_t proc_running(dev_t dev, ino_t ino, pid_t *pids, size_t room);

/*
 * Whether `pid` is a living process: 0, or -ESRCH with `err` (REASON_PROCESS_NOT_FOUND) that
 * tells a thread and a zombie apart from nothing at all.
 */
int proc_check(pid_t pid, struct err *err);

#endif
