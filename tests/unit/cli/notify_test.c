/* The notification protocol, against a socket of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "notify.h"

static int manager = -1;
static char folder[] = "/tmp/notify-XXXXXX";
static char path[64];

static void listen_at(const struct sockaddr_un *address, size_t length)
{
	if (manager >= 0)
		close(manager);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(manager, (const struct sockaddr *)address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
			 0);
}

static int set_up(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	memcpy(address.sun_path, path, strlen(path) + 1);
	listen_at(&address, strlen(path) + 1);
	return setenv("NOTIFY_SOCKET", path, 1);
}

static int tear_down(void **state)
{
	(void)state;
	close(manager);
	unlink(path);
	return rmdir(folder);
}

/* The next message, "" when there is none. */
static const char *heard(void)
{
	static char text[512];
	ssize_t length = recv(manager, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return text;
}

static void tells_its_life(void **state)
{
	(void)state;
	notify_ready();
	assert_string_equal(heard(), "READY=1");
	notify_stopping();
	assert_string_equal(heard(), "STOPPING=1");
	assert_string_equal(heard(), "");
}

static void a_reload_has_its_time(void **state)
{
	struct timespec now;
	unsigned long long us;
	int end = 0;

	(void)state;
	notify_reloading();
	const char *text = heard();
	assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%llu%n", &us, &end), 1);
	assert_int_equal(text[end], '\0');
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_in_range(us, ((unsigned long long)now.tv_sec - 100) * 1000000,
			((unsigned long long)now.tv_sec + 1) * 1000000);
}

static void a_status_is_sent_once(void **state)
{
	char text[600];

	(void)state;
	notify_status("%d of %d probes attached", 3, 4);
	notify_status("%d of %d probes attached", 3, 4);
	assert_string_equal(heard(), "STATUS=3 of 4 probes attached");
	assert_string_equal(heard(), "");
	notify_status("%d of %d probes attached", 4, 4);
	assert_string_equal(heard(), "STATUS=4 of 4 probes attached");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	notify_status("%s", text);
	assert_int_equal(strlen(heard()), 255);
}

static void the_watchdog_is_fed_in_time_and_not_more(void **state)
{
	char pid[32];

	(void)state;
	notify_alive();
	assert_string_equal(heard(), ""); /* nobody watches */
	setenv("WATCHDOG_USEC", "60000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_alive();
	assert_string_equal(heard(), ""); /* another process is watched */
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	notify_alive();
	assert_string_equal(heard(), "WATCHDOG=1");
	notify_alive();
	assert_string_equal(heard(), ""); /* within a third of a minute */
	setenv("WATCHDOG_USEC", "3000", 1);
	usleep(2000);
	notify_alive();
	assert_string_equal(heard(), "WATCHDOG=1");
	setenv("WATCHDOG_USEC", "nonsense", 1);
	notify_alive();
	assert_string_equal(heard(), "");
}

static void abstract_names(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@uprobe-notify-%d", getpid());
	memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
	listen_at(&address, strlen(name));
	setenv("NOTIFY_SOCKET", name, 1);
	notify_ready();
	assert_string_equal(heard(), "READY=1");
}

static void nobody_listens(void **state)
{
	static char long_name[200];

	(void)state;
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[0] = '/';
	const char *names[] = {"", "/", "@", "relative", "vsock:2:1", "/nowhere/socket", long_name};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		notify_ready();
	}
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	assert_string_equal(heard(), "");
}

/* Its queue holds what net.unix.max_dgram_qlen allows. */
static void nobody_reads(void **state)
{
	enum { MORE_THAN_IT_HOLDS = 3 };
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@uprobe-notify-full-%d", getpid());
	memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
	listen_at(&address, strlen(name));
	int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	while (sendto(sender, "X=1", 3, 0, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))) == 3)
		;
	close(sender);
	setenv("NOTIFY_SOCKET", name, 1);
	for (int i = 0; i < MORE_THAN_IT_HOLDS; i++)
		notify_stopping();
	do
		name[0] = *heard();
	while (name[0] == 'X');
	assert_int_equal(name[0], '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_its_life),
		cmocka_unit_test(a_reload_has_its_time),
		cmocka_unit_test(a_status_is_sent_once),
		cmocka_unit_test(the_watchdog_is_fed_in_time_and_not_more),
		cmocka_unit_test(abstract_names),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(nobody_reads),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
