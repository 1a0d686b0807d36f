/* The server's life: addresses, concurrency, stop and restart. */
#include "client.h"

#include <pthread.h>
#include <signal.h>

#define CLIENTS 32

static void serves_every_address(void **state)
{
	static const char *const addresses[] = {"127.0.0.1:0", "[::1]:0", ":0"};
	static const int families[][2] = {{AF_INET, 0}, {AF_INET6, 0}, {AF_INET, AF_INET6}};
	struct http_options options = default_options();

	(void)state;
	options.listen = addresses;
	options.n_listen = 3;
	struct http_server *server = start_server(&options);
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 2 && families[i][j]; j++) {
			int fd = dial_address(http_address(server, i), families[i][j]);
			struct strbuf response;
			assert_true(fd >= 0);
			strbuf_init(&response);
			send_text(fd, "GET /metrics HTTP/1.0\r\n\r\n");
			receive_all(fd, &response);
			assert_has(response.text, "\r\n\r\nup 1\n");
			strbuf_fini(&response);
			close(fd);
		}
	}
	assert_null(http_address(server, 3));
	http_stop(server);
}

static void a_second_instance_is_refused(void **state)
{
	struct http_options options = default_options();
	struct http_server *second = (struct http_server *)&options;
	struct err err = {0};

	(void)state;
	struct http_server *server = start_server(&options);
	const char *const same[] = {"127.0.0.1:0", http_address(server, 0)};
	int baseline = count_open_files();
	options.listen = same;
	options.n_listen = 2;
	assert_int_equal(http_start(&options, &second, &err), -EADDRINUSE);
	assert_null(second);
	assert_has(err.msg, same[1]);
	assert_has(err.msg, "address already in use");
	assert_int_equal(count_open_files(), baseline);
	assert_scrape_works(server);
	http_stop(server);
}

/* The server closes first, so its port is in TIME_WAIT, and clients still hold connections. */
static void restarts_on_the_same_port(void **state)
{
	struct http_options options = default_options();
	char address[64];
	const char *const fixed[] = {address};

	(void)state;
	int baseline = count_open_files();
	struct http_server *server = start_server(&options);
	snprintf(address, sizeof(address), "%s", http_address(server, 0));
	options.listen = fixed;
	for (int i = 0; i < 20; i++) {
		int idle = dial(server);
		int stuck = dial(server);
		send_text(stuck, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /me");
		assert_scrape_works(server);
		http_stop(server);
		server = start_server(&options);
		close(idle);
		close(stuck);
	}
	assert_scrape_works(server);
	http_stop(server);
	assert_open_files_return_to(baseline);
	http_stop(NULL);
}

struct client {
	pthread_t thread;
	int fd;
	struct strbuf response;
};

/* No assertion here: cmocka's work in the main thread only. */
static void *receive_in_thread(void *argument)
{
	struct client *client = argument;
	char bytes[65536];
	ssize_t n;

	while ((n = recv(client->fd, bytes, sizeof(bytes), 0)) > 0)
		strbuf_add(&client->response, bytes, (size_t)n);
	close(client->fd);
	return NULL;
}

static void start_clients(struct client *clients, int n, const struct http_server *server,
			  const char *request)
{
	for (int i = 0; i < n; i++) {
		strbuf_init(&clients[i].response);
		clients[i].fd = dial(server);
		send_text(clients[i].fd, request);
		pthread_create(&clients[i].thread, NULL, receive_in_thread, &clients[i]);
	}
}

/* The number whose response ends with `body`. */
static int join_clients(struct client *clients, int n, const char *body)
{
	int good = 0;

	for (int i = 0; i < n; i++) {
		pthread_join(clients[i].thread, NULL);
		const struct strbuf *response = &clients[i].response;
		size_t length = strlen(body);
		good += response->length > length &&
			!strcmp(response->text + response->length - length, body);
		strbuf_fini(&clients[i].response);
	}
	return good;
}

static void hold_slow_route(void)
{
	atomic_store(&slow_release, 0);
	atomic_store(&slow_most, 0);
}

static void wait_until_running(int n)
{
	int64_t until = clock_ms() + WAIT_MS;

	while (atomic_load(&slow_running) < n && clock_ms() < until)
		sleep_ms(1);
	assert_int_equal(atomic_load(&slow_running), n);
}

static void *release_later(void *argument)
{
	sleep_ms(*(int *)argument);
	atomic_store(&slow_release, 1);
	return NULL;
}

static void routes_run_side_by_side(void **state)
{
	struct http_options options = default_options();
	struct client slow[4], quick[CLIENTS];

	(void)state;
	hold_slow_route();
	struct http_server *server = start_server(&options);
	start_clients(slow, 4, server, "GET /slow HTTP/1.0\r\n\r\n");
	wait_until_running(4);
	start_clients(quick, CLIENTS, server, "GET /metrics HTTP/1.0\r\n\r\n");
	assert_int_equal(join_clients(quick, CLIENTS, "up 1\n"), CLIENTS);
	assert_int_equal(atomic_load(&slow_running), 4); /* meanwhile */
	atomic_store(&slow_release, 1);
	assert_int_equal(join_clients(slow, 4, "\r\n\r\nslow\n"), 4);
	assert_int_equal(atomic_load(&slow_most), 4);
	http_stop(server);
}

static void more_requests_than_threads(void **state)
{
	struct http_options options = default_options();
	struct client clients[CLIENTS];
	pthread_t thread;
	int delay = 100;

	(void)state;
	hold_slow_route();
	struct http_server *server = start_server(&options);
	start_clients(clients, CLIENTS, server, "GET /slow HTTP/1.0\r\n\r\n");
	pthread_create(&thread, NULL, release_later, &delay);
	assert_int_equal(join_clients(clients, CLIENTS, "\r\n\r\nslow\n"), CLIENTS);
	pthread_join(thread, NULL);
	start_clients(clients, CLIENTS, server, "GET /big HTTP/1.0\r\n\r\n");
	assert_int_equal(join_clients(clients, CLIENTS, "0123456789abcde\n"), CLIENTS);
	http_stop(server);
}

static void stop_finishes_what_is_under_way(void **state)
{
	struct http_options options = default_options();
	struct client clients[4];
	pthread_t thread;
	int delay = 100;

	(void)state;
	hold_slow_route();
	struct http_server *server = start_server(&options);
	start_clients(clients, 4, server, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
	wait_until_running(4);
	pthread_create(&thread, NULL, release_later, &delay);
	http_stop(server);
	assert_int_equal(join_clients(clients, 4, "\r\n\r\nslow\n"), 4);
	pthread_join(thread, NULL);
}

/* Routes that take longer than the grace, and a queue behind them: that queue is dropped. */
static void stop_drops_what_waits(void **state)
{
	struct http_options options = default_options();
	struct client clients[CLIENTS];
	pthread_t thread;
	int delay = 1500;

	(void)state;
	hold_slow_route();
	struct http_server *server = start_server(&options);
	start_clients(clients, CLIENTS, server, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
	wait_until_running(8);
	pthread_create(&thread, NULL, release_later, &delay);
	http_stop(server);
	assert_true(join_clients(clients, CLIENTS, "\r\n\r\nslow\n") <= 8);
	assert_int_equal(atomic_load(&slow_most), 8);
	pthread_join(thread, NULL);
}

static void stop_is_quick_with_stuck_clients(void **state)
{
	struct http_options options = default_options();
	int fds[200];

	(void)state;
	int baseline = count_open_files();
	struct http_server *server = start_server(&options);
	for (int i = 0; i < 200; i++) {
		fds[i] = dial(server);
		send_text(fds[i], i % 2 ? "GET /big HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /m");
	}
	assert_scrape_works(server);
	int64_t before = clock_ms();
	http_stop(server);
	assert_true(clock_ms() - before < 10000); /* meant: 1 s */
	assert_int_equal(count_open_files(), baseline + 200);
	for (int i = 0; i < 200; i++)
		close(fds[i]);
}

/* Clients that come and go at every moment, and a stop in the midst of it. */
static void *hang_up_often(void *argument)
{
	static const char *const requests[] = {"", "GET", "GET /big HTTP/1.1\r\nHost: x\r\n\r\n",
					       "GET /metrics HTTP/1.0\r\n\r\n"};
	char address[64];

	snprintf(address, sizeof(address), "%s", (const char *)argument);
	for (int i = 0; i < 2000; i++) {
		char bytes[100000];
		int fd = dial_address(address, AF_INET);
		if (fd < 0)
			break;
		send_text(fd, requests[i % 4]);
		if (i % 3 == 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
			sleep_ms(1);
		close(fd);
	}
	return NULL;
}

static void stop_amid_disconnects(void **state)
{
	struct http_options options = default_options();
	pthread_t threads[4];

	(void)state;
	signal(SIGPIPE, SIG_DFL); /* the server must not need it ignored */
	int baseline = count_open_files();
	for (int round = 0; round < 5; round++) {
		struct http_server *server = start_server(&options);
		char address[64];
		snprintf(address, sizeof(address), "%s", http_address(server, 0));
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, hang_up_often, address);
		sleep_ms(100);
		assert_some_scrape_works(server);
		http_stop(server);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		assert_open_files_return_to(baseline);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_every_address),
		cmocka_unit_test(a_second_instance_is_refused),
		cmocka_unit_test(restarts_on_the_same_port),
		cmocka_unit_test(routes_run_side_by_side),
		cmocka_unit_test(more_requests_than_threads),
		cmocka_unit_test(stop_finishes_what_is_under_way),
		cmocka_unit_test(stop_drops_what_waits),
		cmocka_unit_test(stop_is_quick_with_stuck_clients),
		cmocka_unit_test(stop_amid_disconnects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
