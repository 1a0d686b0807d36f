/* The stamp of a file. */
#include "file_stamp.h"

#include <sys/stat.h>

static struct file_stamp stamp_of(const struct stat *st)
{
	return (struct file_stamp){st->st_dev, st->st_ino, st->st_size, st->st_mtim, st->st_ctim};
}

struct file_stamp file_stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct file_stamp){0};
	return stamp_of(&st);
}

struct file_stamp file_stamp_of_fd(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return (struct file_stamp){0};
	return stamp_of(&st);
}

struct file_stamp file_stamp_of_plan(const struct plan_file *file)
{
	return (struct file_stamp){file->dev, file->ino, file->size, file->modified, file->changed};
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

bool file_stamp_same_inode(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

bool file_stamp_content_differs(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->size != b->size || a->modified.tv_sec != b->modified.tv_sec ||
	       a->modified.tv_nsec != b->modified.tv_nsec;
}
