/* Out of file descriptors: no spinning, and service again as soon as there is one. */
#include "client.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define CLIENTS 24

static struct rlimit limit_before;

static void limit_files(int n)
{
	struct rlimit limit = {.rlim_cur = (rlim_t)n, .rlim_max = limit_before.rlim_max};

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int setup(void **state)
{
	(void)state;
	return getrlimit(RLIMIT_NOFILE, &limit_before);
}

static int teardown(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_NOFILE, &limit_before);
}

/* The lowest limit that allows `more` descriptors on top of the open ones. */
static int limit_with_room_for(int more)
{
	int fds[64];
	int highest = 0;

	for (int i = 0; i < more; i++) {
		fds[i] = dup(0);
		assert_true(fds[i] >= 0);
		highest = fds[i];
	}
	for (int i = 0; i < more; i++)
		close(fds[i]);
	return highest + 1;
}

static int64_t cpu_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void connect_to(const struct http_server *server, int fd)
{
	struct sockaddr_in peer = {.sin_family = AF_INET,
				   .sin_port = htons((in_port_t)port_of(http_address(server, 0))),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_int_equal(connect(fd, (struct sockaddr *)&peer, sizeof(peer)), 0);
}

static void open_sockets(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
	}
}

static void close_sockets(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

static void assert_answer(int fd)
{
	struct strbuf response;

	strbuf_init(&response);
	send_text(fd, "GET /metrics HTTP/1.0\r\n\r\n");
	receive_all(fd, &response);
	assert_has(strbuf_text(&response), "\r\n\r\nup 1\n");
	strbuf_fini(&response);
}

/* Silent clients hold all descriptors there are; a scrape gets theirs. */
static void a_scrape_gets_the_oldest_one(void **state)
{
	struct http_options options = default_options();
	int fds[CLIENTS];

	(void)state;
	struct http_server *server = start_server(&options);
	open_sockets(fds, CLIENTS);
	limit_files(limit_with_room_for(5));
	for (int i = 0; i < CLIENTS; i++)
		connect_to(server, fds[i]);
	assert_answer(fds[CLIENTS - 1]);
	teardown(NULL);
	close_sockets(fds, CLIENTS);
	http_stop(server);
}

/* Somebody else holds them: nothing to be done but wait, without burning the CPU. */
static void waits_without_spinning(void **state)
{
	struct http_options options = default_options();
	int fd;

	(void)state;
	struct http_server *server = start_server(&options);
	open_sockets(&fd, 1);
	limit_files(3); /* below what is open already */
	connect_to(server, fd);
	int64_t before = cpu_ms();
	sleep_ms(1000);
	assert_true(cpu_ms() - before < 500);
	teardown(NULL);
	assert_answer(fd);
	close(fd);
	http_stop(server);
}

/* In a process of its own, so that its descriptors are not ours: connect, and hold until killed. */
static pid_t start_holder(const struct http_server *server, int n)
{
	pid_t child = fork();
	char address[64];

	assert_true(child >= 0);
	if (child)
		return child;
	teardown(NULL);
	snprintf(address, sizeof(address), "%s", http_address(server, 0));
	for (int i = 0; i < n; i++)
		dial_address(address, AF_INET);
	for (;;)
		pause();
}

/* However many clients there are, half of the descriptors stay free for the rest of the program. */
static void leaves_half_to_the_rest(void **state)
{
	struct http_options options = default_options();
	struct rlimit limit;
	int most = 0;

	(void)state;
	limit_files(limit_with_room_for(60));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct http_server *server = start_server(&options);
	int before = count_open_files();
	pid_t holder = start_holder(server, 100);
	int64_t until = clock_ms() + WAIT_MS; /* for the holder to get its turn */
	for (int i = 0; i < 5 || (most - before <= (int)limit.rlim_cur / 4 && clock_ms() < until);
	     i++) {
		assert_some_scrape_works(server);
		int now = count_open_files();
		most = now > most ? now : most;
		sleep_ms(100);
	}
	assert_true(most - before > (int)limit.rlim_cur / 4);	    /* it did come under pressure */
	assert_true(most - before <= (int)limit.rlim_cur / 2 + 10); /* cut, not yet closed */
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	assert_open_files_return_to(before);
	http_stop(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_scrape_gets_the_oldest_one, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_without_spinning, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_half_to_the_rest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
