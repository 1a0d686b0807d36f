/*
 * Opening a file that a config names. Whatever the path leads to (a FIFO, a device, a directory,
 * a file that somebody is replacing), opening never blocks and never has an effect on it.
 */
#ifndef TARGET_FILE_H
#define TARGET_FILE_H

#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"

struct file {
	int fd; /* O_RDONLY, the caller's to close; -1 when not opened */
	const char *
		path; /* canonical where that leads to the same file, else as given; in the arena */
	dev_t dev;
	ino_t ino;
	off_t size; /* this and the times: when it was opened */
	struct timespec modified, changed;
};

/*
 * Open the regular file at `path`. 0, or -errno with `err` filled (REASON_BINARY_NOT_FOUND,
 * REASON_BINARY_UNREADABLE, REASON_NOT_ELF for what is not a regular file,
 * REASON_OUT_OF_RESOURCES) and file->fd -1.
 */
int file_open(struct file *file, const char *path, struct arena *arena, struct err *err);

/*
 * The same as a process sees it whose root is `root_fd`: no part of the path leads out of there.
 * The path is kept as given.
 */
int file_open_in(struct file *file, int root_fd, const char *path, struct arena *arena,
		 struct err *err);

#endif
