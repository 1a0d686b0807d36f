/* From a file to its mount, and to the device of that. */
#include "target/mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"

/* Kernels from 5.8 tell. */
static bool mount_of(struct mounts_file file, unsigned long long *mount)
{
	struct statx found;

	if (statx(file.fd, file.name, *file.name ? 0 : AT_EMPTY_PATH, STATX_MNT_ID, &found) ||
	    !(found.stx_mask & STATX_MNT_ID))
		return false;
	*mount = found.stx_mnt_id;
	return true;
}

static bool find_mount(FILE *mountinfo, unsigned long long wanted, dev_t *device)
{
	_cleanup_free_ char *line = NULL;
	unsigned long long mount;
	unsigned int major_number, minor_number;
	size_t room = 0;

	while (getline(&line, &room, mountinfo) > 0) {
		if (sscanf(line, "%llu %*u %u:%u ", &mount, &major_number, &minor_number) != 3 ||
		    mount != wanted)
			continue;
		*device = makedev(major_number, minor_number);
		return true;
	}
	return false;
}

bool mounts_device(struct mounts_file file, struct mounts_file mountinfo, dev_t seen, dev_t *device)
{
	unsigned long long wanted;

	*device = seen;
	if (major(seen))
		return true; /* block devices are what they seem */
	if (!mount_of(file, &wanted))
		return false;
	int fd = openat(mountinfo.fd, mountinfo.name, O_RDONLY | O_CLOEXEC);
	FILE *mounts = fd < 0 ? NULL : fdopen(fd, "r");
	if (!mounts) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool found = find_mount(mounts, wanted, device);
	fclose(mounts);
	return found;
}
