/*
 * The device of a file as the kernel has it inside (s_dev of its file system), which is what the
 * kernel programs compare. On btrfs, and on overlayfs over several file systems, stat(2) tells
 * others; /proc/PID/mountinfo has the right one (proc_pid_mountinfo(5)).
 */
#ifndef TARGET_MOUNTS_H
#define TARGET_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

/* A file by a folder and a name in it; or, with "", the descriptor itself. */
struct mounts_file {
	int fd;
	const char *name;
};

/*
 * Of a file that stat(2) says is on the device `seen`: `mountinfo` is that of a process which sees
 * it mounted. False when it cannot be told.
 */
bool mounts_device(struct mounts_file file, struct mounts_file mountinfo, dev_t seen,
		   dev_t *device);

#endif
