/* mounts.c: the device of a file by its mount. */
#include "common.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "target/mounts.h"

static char folder[] = "/tmp/uprobe-mounts-XXXXXX";
static const char *const lines =
	"%llu 1 0:41 / /other rw - tmpfs tmpfs rw\n"
	"%llu 1 0:42 /x /here\\040too rw,relatime shared:5 master:6 - btrfs /dev/vda rw\n"
	"broken\n";

static struct mounts_file in_cwd(const char *path)
{
	return (struct mounts_file){AT_FDCWD, path};
}

/* A mountinfo in which the folder's mount is second. */
static int setup(void **state)
{
	struct statx found;
	FILE *out;

	(void)state;
	if (!mkdtemp(folder) || chdir(folder) || !(out = fopen("mountinfo", "w")) ||
	    statx(AT_FDCWD, folder, 0, STATX_MNT_ID, &found))
		return -1;
	fprintf(out, lines, (unsigned long long)found.stx_mnt_id + 1,
		(unsigned long long)found.stx_mnt_id);
	return fclose(out);
}

static int teardown(void **state)
{
	(void)state;
	return unlink("mountinfo") || chdir("/") || rmdir(folder);
}

static void what_mountinfo_says(void **state)
{
	dev_t seen = makedev(0, 99);
	int fd = open("mountinfo", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(mounts_device(in_cwd("mountinfo"), in_cwd("mountinfo"), seen),
			 makedev(0, 42));
	assert_int_equal(mounts_device((struct mounts_file){fd, ""}, in_cwd("mountinfo"), seen),
			 makedev(0, 42));
	close(fd);
}

static void what_cannot_be_told(void **state)
{
	dev_t seen = makedev(0, 99);

	(void)state;
	assert_int_equal(mounts_device(in_cwd("none"), in_cwd("mountinfo"), seen), seen);
	assert_int_equal(mounts_device(in_cwd("mountinfo"), in_cwd("none"), seen), seen);
	assert_int_equal(mounts_device(in_cwd("/proc/self/status"), in_cwd("mountinfo"), seen),
			 seen);
}

static void block_devices_are_what_they_seem(void **state)
{
	dev_t seen = makedev(8, 1);

	(void)state;
	assert_int_equal(mounts_device(in_cwd("mountinfo"), in_cwd("mountinfo"), seen), seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_mountinfo_says),
		cmocka_unit_test(what_cannot_be_told),
		cmocka_unit_test(block_devices_are_what_they_seem),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
