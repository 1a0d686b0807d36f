/* From a file to its mount, and to the device of that. */
#include "target/mounts.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000 /* linux/stat.h, since 5.8 */
#endif

/* Since glibc 2.36 the struct has the field. */
static bool mount_of(struct mounts_file file, unsigned long long *mount)
{
	struct statx found;

	if (statx(file.fd, file.name, *file.name ? 0 : AT_EMPTY_PATH, STATX_MNT_ID, &found) ||
	    !(found.stx_mask & STATX_MNT_ID))
		return false;
	*mount = found.stx_mnt_id;
	return true;
}

dev_t mounts_device(struct mounts_file file, struct mounts_file mountinfo, dev_t seen)
{
	_cleanup_free_ char *line = NULL;
	unsigned long long wanted, mount;
	unsigned int major_number, minor_number;
	size_t room = 0;
	dev_t device = seen;

	if (major(seen) || !mount_of(file, &wanted))
		return seen; /* block devices are what they seem */
	int fd = openat(mountinfo.fd, mountinfo.name, O_RDONLY | O_CLOEXEC);
	FILE *mounts = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !mounts)
		close(fd);
	while (mounts && getline(&line, &room, mounts) > 0) {
		if (sscanf(line, "%llu %*u %u:%u ", &mount, &major_number, &minor_number) != 3 ||
		    mount != wanted)
			continue;
		device = makedev(major_number, minor_number);
		break;
	}
	if (mounts)
		fclose(mounts);
	return device;
}
