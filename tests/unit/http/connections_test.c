/* Phases, deadlines and eviction: on the table alone, then on a server with hostile clients. */
#include "client.h"

#include <pthread.h>

#include "http/connections.h"

#define STUCK	  200
#define STUCK_BIG 80

/* A socket of the table's and the peer that sees it cut. */
struct pair {
	struct connection *connection;
	int ours, peer;
};

static struct pair open_pair(struct connections *table)
{
	struct pair pair;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(connections_admit(table));
	pair.ours = fds[0];
	pair.peer = fds[1];
	pair.connection = connection_open(table, fds[0]);
	sleep_ms(2); /* so that no two are equally old */
	return pair;
}

static int is_cut(const struct pair *pair)
{
	char byte;

	return recv(pair->peer, &byte, 1, MSG_DONTWAIT) == 0;
}

static void close_pair(struct pair *pair)
{
	connection_close(pair->connection);
	close(pair->ours);
	close(pair->peer);
}

static void the_longest_waiting_makes_room(void **state)
{
	struct connections table;
	struct pair pairs[6];

	(void)state;
	connections_init(&table, 3, 60000, 60000);
	table.young_ms = 0;
	for (int i = 0; i < 3; i++)
		pairs[i] = open_pair(&table);
	for (int i = 0; i < 3; i++)
		assert_false(is_cut(&pairs[i]));
	connection_enter(pairs[0].connection, CONNECTION_HANDLING, 0); /* never cut */
	sleep_ms(2);
	pairs[3] = open_pair(&table);
	assert_true(is_cut(&pairs[1]));
	connection_enter(pairs[2].connection, CONNECTION_IDLE, 0); /* was served: young again */
	sleep_ms(2);
	pairs[4] = open_pair(&table);
	assert_false(is_cut(&pairs[2]));
	assert_true(is_cut(&pairs[3]));
	close_pair(&pairs[2]); /* room for one */
	pairs[5] = open_pair(&table);
	assert_false(is_cut(&pairs[4]));
	assert_false(is_cut(&pairs[0]));
	for (int i = 0; i < 6; i++)
		if (i != 2)
			close_pair(&pairs[i]);
	assert_int_equal(table.admitted, 0);
	assert_int_equal(table.cut, 0);
	assert_int_equal(table.busy, 0);
	connections_fini(&table);
}

static void the_young_are_not_pushed_out(void **state)
{
	struct connections table;
	struct pair first, second;

	(void)state;
	connections_init(&table, 1, 60000, 60000);
	first = open_pair(&table);
	assert_false(connections_admit(&table));
	assert_false(connections_evict(&table));
	assert_false(is_cut(&first));
	sleep_ms(300);
	second = open_pair(&table);
	assert_true(is_cut(&first));
	assert_false(is_cut(&second));
	close_pair(&first);
	close_pair(&second);
	connections_fini(&table);
}

static void a_peer_that_left_is_noticed(void **state)
{
	struct connections table;
	struct pair idle, reading, sending;

	(void)state;
	connections_init(&table, 10, 60000, 60000);
	idle = open_pair(&table);
	reading = open_pair(&table);
	sending = open_pair(&table);
	connection_enter(reading.connection, CONNECTION_READING, 0);
	connection_enter(sending.connection, CONNECTION_SENDING, 0);
	shutdown(idle.peer, SHUT_WR);
	shutdown(reading.peer, SHUT_WR);
	shutdown(sending.peer, SHUT_WR); /* half-closed: it still wants its answer */
	connections_expire(&table);
	assert_int_equal(table.cut, 0); /* too young to tell */
	sleep_ms(300);
	connections_expire(&table);
	assert_true(is_cut(&idle));
	assert_true(is_cut(&reading));
	assert_false(is_cut(&sending));
	close_pair(&idle);
	close_pair(&reading);
	close_pair(&sending);
	connections_fini(&table);
}

static void fill(int fd)
{
	char bytes[4096] = {0};

	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
}

/* Bytes not read yet, or room not filled yet: the server is slow, not the client. */
static void who_waits_for_us_is_not_pushed_out(void **state)
{
	struct connections table;
	struct pair sent, reads, stuck;

	(void)state;
	connections_init(&table, 10, 60000, 60000);
	table.young_ms = 0;
	sent = open_pair(&table);
	send_text(sent.peer, "GET");
	reads = open_pair(&table);
	connection_enter(reads.connection, CONNECTION_SENDING, 100);
	stuck = open_pair(&table);
	connection_enter(stuck.connection, CONNECTION_SENDING, 100);
	fill(stuck.ours);
	sleep_ms(2);
	assert_true(connections_evict(&table));
	assert_true(stuck.connection->cut);
	assert_false(connections_evict(&table));
	assert_false(is_cut(&sent));
	assert_false(is_cut(&reads));
	close_pair(&sent);
	close_pair(&reads);
	close_pair(&stuck);
	connections_fini(&table);
}

static void each_phase_has_its_deadline(void **state)
{
	struct connections table;
	struct pair pairs[4];

	(void)state;
	connections_init(&table, 10, 60000, 30);
	assert_int_equal(connections_expire(&table), -1);
	for (int i = 0; i < 4; i++) {
		pairs[i] = open_pair(&table);
		connection_enter(pairs[i].connection, (enum connection_phase)i, 1000);
	}
	assert_true(connections_expire(&table) > 0);
	sleep_ms(60);
	connections_expire(&table);
	assert_false(is_cut(&pairs[CONNECTION_IDLE]));
	assert_true(is_cut(&pairs[CONNECTION_READING]));
	assert_false(is_cut(&pairs[CONNECTION_HANDLING]));
	assert_true(is_cut(&pairs[CONNECTION_SENDING]));
	table.idle_ms = 30;
	connections_expire(&table);
	assert_true(is_cut(&pairs[CONNECTION_IDLE]));
	assert_false(is_cut(&pairs[CONNECTION_HANDLING]));
	for (int i = 0; i < 4; i++)
		close_pair(&pairs[i]);
	assert_int_equal(table.response_bytes, 0);
	connections_fini(&table);
}

static void held_responses_are_bounded(void **state)
{
	struct connections table;
	struct pair pairs[4];

	(void)state;
	connections_init(&table, 10, 60000, 60000);
	for (int i = 0; i < 3; i++) {
		pairs[i] = open_pair(&table);
		connection_enter(pairs[i].connection, CONNECTION_SENDING, 30u << 20);
		fill(pairs[i].ours);
	}
	for (int i = 0; i < 3; i++) /* too much, but they may all be reading */
		assert_false(is_cut(&pairs[i]));
	sleep_ms(300);
	pairs[3] = open_pair(&table);
	connection_enter(pairs[3].connection, CONNECTION_SENDING, 1u << 20);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pairs[i].connection->cut, i == 0);
	for (int i = 0; i < 4; i++)
		close_pair(&pairs[i]);
	connections_fini(&table);
}

static void drain_waits_for_answers_only(void **state)
{
	struct connections table;
	struct pair idle, busy, late;

	(void)state;
	connections_init(&table, 10, 60000, 60000);
	idle = open_pair(&table);
	connections_drain(&table, WAIT_MS); /* nothing under way: at once */
	assert_true(is_cut(&idle));
	table.draining = false;
	busy = open_pair(&table);
	connection_enter(busy.connection, CONNECTION_HANDLING, 0);
	int64_t before = clock_ms();
	connections_drain(&table, 50);
	assert_true(clock_ms() - before >= 50);
	assert_false(is_cut(&busy));
	connection_enter(busy.connection, CONNECTION_IDLE, 0);
	assert_true(is_cut(&busy));
	late = open_pair(&table);
	assert_true(is_cut(&late));
	close_pair(&idle);
	close_pair(&busy);
	close_pair(&late);
	connections_fini(&table);
}

/* ---- on a server ---- */

static void dial_many(const struct http_server *server, int *fds, int n, const char *request)
{
	for (int i = 0; i < n; i++) {
		fds[i] = dial(server);
		send_text(fds[i], request);
	}
}

static void close_many(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

static void assert_scrape_is_quick(const struct http_server *server)
{
	int64_t before = clock_ms();

	assert_scrape_works(server);
	assert_true(clock_ms() - before < 60000); /* meant: 1 s; the machine may be busy */
}

static const char *const stuck_requests[] = {
	"",					/* connects only */
	"GET /metr",				/* stops in the request line */
	"GET /metrics HTTP/1.1\r\nHost: x\r\n", /* stops in the headers */
	"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", /* stops before the body */
	"GET /big HTTP/1.1\r\nHost: x\r\n\r\n",			       /* never reads */
};

/* Many; of those that are to be answered, so many that not all answers may be held. */
static int stuck_with(const char *request)
{
	return strstr(request, "/big") ? STUCK_BIG : STUCK;
}

/* The clients keep their ends open: it is the server that must give its own up. */
static void stuck_clients_are_dropped(void **state)
{
	struct http_options options = default_options();
	int fds[STUCK];

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 1;
	struct http_server *server = start_server(&options);
	int baseline = count_open_files();
	for (size_t i = 0; i < sizeof(stuck_requests) / sizeof(stuck_requests[0]); i++) {
		int n = stuck_with(stuck_requests[i]);
		dial_many(server, fds, n, stuck_requests[i]);
		assert_scrape_is_quick(server);
		assert_open_files_return_to(baseline + n);
		assert_scrape_is_quick(server);
		close_many(fds, n);
		assert_open_files_return_to(baseline);
	}
	http_stop(server);
}

static void closing_clients_leave_nothing(void **state)
{
	struct http_options options = default_options();
	int fds[STUCK];

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 3600; /* it is not these that help */
	struct http_server *server = start_server(&options);
	int baseline = count_open_files();
	for (size_t i = 0; i < sizeof(stuck_requests) / sizeof(stuck_requests[0]); i++) {
		int n = stuck_with(stuck_requests[i]);
		dial_many(server, fds, n, stuck_requests[i]);
		close_many(fds, n);
		assert_open_files_return_to(baseline);
	}
	assert_scrape_works(server);
	http_stop(server);
}

/* With time-outs far away, a scrape gets in past as many stuck clients as are allowed, and more. */
static void a_full_house_lets_a_scrape_in(void **state)
{
	struct http_options options = default_options();
	int fds[40];

	(void)state;
	options.connection_limit = 16;
	options.idle_timeout_s = options.request_timeout_s = 3600;
	struct http_server *server = start_server(&options);
	for (size_t i = 0; i < sizeof(stuck_requests) / sizeof(stuck_requests[0]); i++) {
		dial_many(server, fds, 40, stuck_requests[i]);
		for (int j = 0; j < 5; j++)
			assert_scrape_is_quick(server);
		close_many(fds, 40);
	}
	http_stop(server);
}

/* Exactly as many as are allowed stay, however often somebody else comes and goes. */
static void a_visitor_pushes_out_no_more_than_one(void **state)
{
	struct http_options options = default_options();
	int fds[16];
	int alive = 0;

	(void)state;
	options.connection_limit = 16;
	struct http_server *server = start_server(&options);
	dial_many(server, fds, 16, "GET /met");
	sleep_ms(300);
	for (int i = 0; i < 3; i++)
		assert_scrape_is_quick(server);
	for (int i = 0; i < 16; i++) {
		char *byte = (char[1]){0};
		alive += recv(fds[i], byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
	}
	assert_true(alive >= 13);
	close_many(fds, 16);
	http_stop(server);
}

/* Send the text over and over, a byte at a time, until the server closes; milliseconds it took. */
static int64_t drip(const struct http_server *server, const char *start, const char *text)
{
	int64_t before = clock_ms();
	int fd = dial(server);
	struct pollfd over = {.fd = fd, .events = POLLIN | POLLRDHUP};

	send_text(fd, start);
	for (size_t i = 0; !poll(&over, 1, 20); i++) {
		char byte[2] = {text[i % strlen(text)], '\0'};
		send_text(fd, byte);
		assert_true(clock_ms() - before < WAIT_MS);
	}
	close(fd);
	return clock_ms() - before;
}

static void a_byte_now_and_then_is_not_enough(void **state)
{
	struct http_options options = default_options();

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 1;
	struct http_server *server = start_server(&options);
	assert_true(drip(server, "", "GET /metrics?aaaaaaaaaaaaaaaaa") >= 900);
	assert_true(drip(server, "GET / HTTP/1.1\r\nHost: x\r\n", "X-Y: z\r\n") >= 900);
	assert_true(drip(server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n",
			 "x") >= 900);
	http_stop(server);
}

static void a_dripping_reader_is_dropped(void **state)
{
	struct http_options options = default_options();
	int64_t before = clock_ms();
	int small = 4096, received = 0;
	char byte;

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 1;
	struct http_server *server = start_server(&options);
	int baseline = count_open_files();
	int fd = dial(server);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	send_text(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	while (count_open_files() > baseline + 1 || !received) {
		received += recv(fd, &byte, 1, 0) == 1;
		sleep_ms(5);
		assert_true(clock_ms() - before < WAIT_MS);
	}
	close(fd);
	http_stop(server);
}

static void *release_later(void *argument)
{
	sleep_ms(*(int *)argument);
	atomic_store(&slow_release, 1);
	return NULL;
}

static void a_slow_route_is_not_cut(void **state)
{
	struct http_options options = default_options();
	int delay = 2500;
	pthread_t thread;

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 1;
	struct http_server *server = start_server(&options);
	atomic_store(&slow_release, 0);
	pthread_create(&thread, NULL, release_later, &delay);
	char *got = exchange(server, "GET /slow HTTP/1.0\r\n\r\n");
	assert_has(got, "\r\n\r\nslow\n");
	free(got);
	pthread_join(thread, NULL);
	http_stop(server);
}

static void keep_alive_outlives_the_timeouts(void **state)
{
	struct http_options options = default_options();
	struct strbuf response;

	(void)state;
	options.idle_timeout_s = options.request_timeout_s = 6;
	struct http_server *server = start_server(&options);
	int fd = dial(server);
	strbuf_init(&response);
	for (int i = 0; i < 6; i++) { /* each pause is short, all together are not */
		send_text(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
		receive_one(fd, 1, &response);
		strbuf_clear(&response);
		sleep_ms(1100);
	}
	assert_int_equal(receive_some(fd, (char[1]){0}, 1), 0); /* then it is closed, cleanly */
	strbuf_fini(&response);
	close(fd);
	http_stop(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_waiting_makes_room),
		cmocka_unit_test(the_young_are_not_pushed_out),
		cmocka_unit_test(a_peer_that_left_is_noticed),
		cmocka_unit_test(who_waits_for_us_is_not_pushed_out),
		cmocka_unit_test(each_phase_has_its_deadline),
		cmocka_unit_test(held_responses_are_bounded),
		cmocka_unit_test(drain_waits_for_answers_only),
		cmocka_unit_test(stuck_clients_are_dropped),
		cmocka_unit_test(closing_clients_leave_nothing),
		cmocka_unit_test(a_full_house_lets_a_scrape_in),
		cmocka_unit_test(a_visitor_pushes_out_no_more_than_one),
		cmocka_unit_test(a_byte_now_and_then_is_not_enough),
		cmocka_unit_test(a_dripping_reader_is_dropped),
		cmocka_unit_test(a_slow_route_is_not_cut),
		cmocka_unit_test(keep_alive_outlives_the_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
