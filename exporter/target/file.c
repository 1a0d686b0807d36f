/*
 * Opening a target file: first by O_PATH, which neither blocks nor wakes a device, then, once it
 * is known to be a regular file, that very inode for reading.
 */
#include "target/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

static enum reason open_reason(int code)
{
	switch (code) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return REASON_BINARY_NOT_FOUND;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return REASON_OUT_OF_RESOURCES;
	default:
		return REASON_BINARY_UNREADABLE;
	}
}

static int open_failed(struct err *err, const char *path, int code)
{
	static const struct {
		int code;
		const char *text;
	} texts[] = {
		{ENOENT, "no such file"},
		{ENOTDIR, "no such file: a part of the path is not a directory"},
		{ELOOP, "no such file: too many symbolic links"},
		{EACCES, "may not be read: permission denied (run as root, or give the exporter "
			 "CAP_DAC_READ_SEARCH)"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].code == code)
			return err_set(err, -code, open_reason(code), "%s: %s", path,
				       texts[i].text);
	return err_set(err, -code, open_reason(code), "%s: cannot be opened: %s", path,
		       strerror(code));
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "not a regular file";
	}
}

/* The inode behind an O_PATH descriptor, for reading; by its name where there is no /proc. */
static int reopen(int handle, const char *path)
{
	char link[64];
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	int fd = open(link, flags);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags);
	return fd;
}

/*
 * The path without symbolic links, if it still means the same inode: below /proc/PID/root, links
 * lead to another process's root, and a name made from them would be wrong here.
 */
static const char *canonical(const char *path, const struct stat *st, struct arena *arena)
{
	struct stat found;
	_cleanup_free_ char *real = realpath(path, NULL);

	if (real && stat(real, &found) == 0 && found.st_dev == st->st_dev &&
	    found.st_ino == st->st_ino)
		return arena_strdup(arena, real);
	return arena_strdup(arena, path);
}

/* Open the file behind an O_PATH descriptor; its path is for the caller to set. */
static int open_handle(struct file *file, int handle, const char *path, struct err *err)
{
	struct stat st, opened;

	memset(file, 0, sizeof(*file));
	file->fd = -1;
	if (handle < 0 || fstat(handle, &st) < 0)
		return open_failed(err, path, errno);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -ENOEXEC, REASON_NOT_ELF, "%s: is %s, not a program or library",
			       path, kind_name(st.st_mode));
	int fd = reopen(handle, path);
	if (fd < 0)
		return open_failed(err, path, errno);
	if (fstat(fd, &opened) < 0 || opened.st_dev != st.st_dev || opened.st_ino != st.st_ino) {
		close(fd);
		return err_set(err, -ESTALE, REASON_BINARY_UNREADABLE,
			       "%s: was replaced while it was opened", path);
	}
	file->fd = fd;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->size = opened.st_size;
	file->modified = opened.st_mtim;
	file->changed = opened.st_ctim;
	return 0;
}

int file_open(struct file *file, const char *path, struct arena *arena, struct err *err)
{
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	int result = open_handle(file, handle, path, err);

	if (!result && !fstat(handle, &st))
		file->path = canonical(path, &st, arena);
	else
		file->path = arena_strdup(arena, path);
	return result;
}

/* What is renamed or mounted anywhere meanwhile makes a lookup fail (openat2(2), EAGAIN). */
enum { TRIES = 4 };

int file_open_in(struct file *file, int root_fd, const char *path, struct arena *arena,
		 struct err *err)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int result = -EAGAIN;

	for (int i = 0; i < TRIES && (result == -EAGAIN || result == -ESTALE); i++) {
		_cleanup_close_ int handle =
			(int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		result = open_handle(file, handle, path, err);
	}
	file->path = arena_strdup(arena, path);
	return result;
}
