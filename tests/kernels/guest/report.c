/* Results, a line each, on a serial port of their own, where no kernel message comes between. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int out = STDOUT_FILENO;
static char name[128];
static char fault[8192];
static double began;

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void report_open(const char *device)
{
	struct termios raw;
	int fd = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	out = fd;
}

static void put(const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(out, text, length);
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

void report(const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, args);
	va_end(args);
	strcat(line, "\n");
	put(line, strlen(line));
}

void case_begin(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	fault[0] = '\0';
	began = seconds_now();
}

void case_fail(const char *fmt, ...)
{
	size_t length = strlen(fault);
	va_list args;

	va_start(args, fmt);
	vsnprintf(fault + length, sizeof(fault) - length - 1, fmt, args);
	va_end(args);
	strcat(fault, "\n");
}

bool case_failed(void)
{
	return fault[0];
}

void case_end(void)
{
	report("case %s %.1f %s", fault[0] ? "fail" : "pass", seconds_now() - began, name);
	for (char *save = NULL, *line = strtok_r(fault, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		report("| %s", line);
}

void die(const char *what)
{
	report("died %s: %s", what, strerror(errno));
	tcdrain(out);
	sync();
	reboot(RB_AUTOBOOT); /* qemu ends instead, by -no-reboot */
	_exit(1);
}
