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
	fprintf(out, lines, ~0ULL, (unsigned long long)found.stx_mnt_id);
	return fclose(out);
}

static int teardown(void **state)
{
	(void)state;
	return unlink("mountinfo") || chdir("/") || rmdir(folder);
}

static dev_t told(struct mounts_file file, const char *mountinfo, dev_t seen)
{
	dev_t device;

	return mounts_device(file, in_cwd(mountinfo), seen, &device) ? device : 0;
}

static void what_mountinfo_says(void **state)
{
	dev_t seen = makedev(0, 99);
	int fd = open("mountinfo", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(told(in_cwd("mountinfo"), "mountinfo", seen), makedev(0, 42));
	assert_int_equal(told((struct mounts_file){fd, ""}, "mountinfo", seen), makedev(0, 42));
	close(fd);
}

static void what_cannot_be_told(void **state)
{
	dev_t seen = makedev(0, 99);

	(void)state;
	assert_int_equal(told(in_cwd("none"), "mountinfo", seen), 0);
	assert_int_equal(told(in_cwd("mountinfo"), "none", seen), 0);
	assert_int_equal(told(in_cwd("/proc/self/status"), "mountinfo", seen), 0);
}

static void block_devices_are_what_they_seem(void **state)
{
	(void)state;
	assert_int_equal(told(in_cwd("mountinfo"), "none", makedev(8, 1)), makedev(8, 1));
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
