/* A cgroup's id is the inode of its folder. */
#include "cgroups.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"

#define ROOT	    "/sys/fs/cgroup"
#define ROOT_CGROUP 1 /* its inode: the first of the file system (fs/kernfs/dir.c) */

/*
 * Whether paths begin at the root of the hierarchy: in a cgroup namespace of its own, the exporter
 * sees a part of it.
 */
static bool is_whole(void)
{
	struct statfs fs;
	struct stat st;

	return !statfs(ROOT, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC && !stat(ROOT, &st) &&
	       st.st_ino == ROOT_CGROUP;
}

uint64_t cgroups_id(const char *path)
{
	_cleanup_free_ char *full = NULL;
	struct stat st;

	if (!is_whole())
		return 0;
	full = alloc_zero(strlen(path) + sizeof(ROOT "/"), 1);
	strcat(strcpy(full, path[0] == '/' ? ROOT : ROOT "/"), path);
	return stat(full, &st) ? 0 : st.st_ino;
}
