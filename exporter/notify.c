/*
 * Datagrams of VARIABLE=VALUE lines to the socket that $NOTIFY_SOCKET names. The protocol is stable
 * and small (systemd, "sd_notify(3)", section "Notes"), so that libsystemd is not needed for it.
 */
#include "notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static uint64_t now_us(void)
{
	return clock_now_ns() / 1000;
}

/* A path, or a name of the abstract namespace, written with @ for its NUL. 0 when it is neither. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	size_t length = strlen(name);

	if ((*name != '/' && *name != '@') || length < 2 || length >= sizeof(address->sun_path))
		return 0;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, name, length);
	if (*name == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/*
 * A manager that does not listen is no reason to stop measuring, nor is one that does not read: its
 * queue is full for a moment while a machine starts, and for ever where it hangs.
 */
static void send_text(const char *text)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t length = name ? address_of(name, &address) : 0;
	const struct timeval patience = {.tv_sec = 1};

	if (!length)
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, length) < 0)
		log_debug("cannot notify the service manager", LOG_STR("socket", name));
	close(fd);
}

void notify_ready(void)
{
	send_text("READY=1");
}

/* The time lets the manager tell this reload's end from an earlier one's (Type=notify-reload). */
void notify_reloading(void)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_us());
	send_text(text);
}

void notify_stopping(void)
{
	send_text("STOPPING=1");
}

void notify_status(const char *fmt, ...)
{
	static char last[256];
	char text[sizeof(last)] = "STATUS=";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + strlen("STATUS="), sizeof(text) - strlen("STATUS="), fmt, args);
	va_end(args);
	if (!strcmp(text, last))
		return;
	memcpy(last, text, sizeof(last));
	send_text(text);
}

/* How often the manager wants to hear of us; 0: it does not watch, or watches another process. */
static uint64_t watchdog_us(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!period || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
		return 0;
	return strtoull(period, NULL, 10);
}

enum { PATIENCE_S = 600 }; /* nobody watches: longer than any reload takes */
#define SECOND_US 1000000ULL

static _Atomic uint64_t turned_us; /* when the main loop was last seen to turn */

void notify_alive(void)
{
	static uint64_t last_us;
	uint64_t period_us = watchdog_us(), now = now_us();

	turned_us = now;
	if (!period_us || now - last_us < period_us / 3)
		return;
	last_us = now;
	send_text("WATCHDOG=1");
}

bool notify_is_overdue(void)
{
	uint64_t turned = turned_us, patience_us = watchdog_us();

	if (!patience_us)
		patience_us = PATIENCE_S * SECOND_US;
	else if (patience_us < SECOND_US)
		patience_us = SECOND_US; /* the loop turns four times in it */
	return turned && now_us() - turned > patience_us;
}
