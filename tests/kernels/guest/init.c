/*
 * The first process of the virtual machine: mounts what is needed, runs the tests, switches off.
 * The kernel's command line says which tiers to expect (the kernel hands words with `=` that it
 * does not know to the first process as its environment): up_tiers=multi,perf up_missing=session
 */
#include "guest.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct {
	const char *type, *at;
} mounts[] = {
	{"devtmpfs", "/dev"},
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"tmpfs", "/tmp"},
};

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].at, 0755);
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, NULL) && errno != EBUSY)
			die(mounts[i].at);
	}
}

static void loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo");
	close(fd);
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static void each_tier(const char *list)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *save = NULL, *tier = strtok_r(copy, ",", &save); tier;
	     tier = strtok_r(NULL, ",", &save)) {
		tests_run(tier);
		more_run(tier);
	}
}

int main(void)
{
	struct utsname kernel;

	mount_all();
	report_open("/dev/ttyS1");
	loopback_up();
	uname(&kernel);
	report("kernel %s %.1f", kernel.release, seconds_now());
	commands_run(environment("up_tiers"), environment("up_missing"));
	each_tier(environment("up_tiers"));
	report("end %.1f", seconds_now());
	sleep(1); /* for the serial port to empty */
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
