/* What a file looked like at one time: when it looks different, it is worth another try. */
#ifndef FILE_STAMP_H
#define FILE_STAMP_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "model/plan.h"

struct file_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

/* All zero when there is no file. */
struct file_stamp file_stamp_of(const char *path);
struct file_stamp file_stamp_of_fd(int fd);
/* As it was when the plan's file was opened. */
struct file_stamp file_stamp_of_plan(const struct plan_file *file);
/* Whether both are of one inode; and whether its content, not just its name or mode, differs. */
bool file_stamp_same_inode(const struct file_stamp *a, const struct file_stamp *b);
bool file_stamp_content_differs(const struct file_stamp *a, const struct file_stamp *b);
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);

#endif
