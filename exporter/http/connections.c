/* The table of connections: phases, deadlines, eviction. */
#include "http/connections.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Responses held for clients that do not take them: beyond this the oldest are given up. */
#define RESPONSE_BYTES_MAX (64u << 20)

/* A healthy client has sent its request, or taken its response, in this time. */
#define YOUNG_MS 250

/* Deadlines are set by other threads than the one that looks; it looks at least this often. */
#define LOOK_INTERVAL_MS 500

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

void connections_init(struct connections *table, unsigned limit, int64_t idle_ms,
		      int64_t request_ms)
{
	pthread_condattr_t monotonic;

	*table = (struct connections){
		.limit = limit, .idle_ms = idle_ms, .request_ms = request_ms, .young_ms = YOUNG_MS};
	pthread_mutex_init(&table->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&table->calm, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void connections_fini(struct connections *table)
{
	pthread_cond_destroy(&table->calm);
	pthread_mutex_destroy(&table->lock);
}

static bool is_busy(enum connection_phase phase)
{
	return phase == CONNECTION_HANDLING || phase == CONNECTION_SENDING;
}

/* A response that is given up is not worth the kernel's memory either: reset rather than linger. */
static void discard_unsent(int fd)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void cut(struct connection *connection)
{
	if (connection->cut)
		return;
	connection->cut = true;
	connection->table->cut++;
	if (connection->phase == CONNECTION_SENDING)
		discard_unsent(connection->fd);
	shutdown(connection->fd, SHUT_RDWR);
}

/*
 * Whether it is us who keep the connection waiting: a route is running, or libmicrohttpd's thread
 * has not come round to bytes that are there to be read, or to room that is there to be filled.
 */
static bool is_our_turn(const struct connection *connection)
{
	struct pollfd socket = {.fd = connection->fd, .events = POLLOUT};
	char byte;

	switch (connection->phase) {
	case CONNECTION_HANDLING:
		return true;
	case CONNECTION_SENDING:
		return poll(&socket, 1, 0) == 1 && socket.revents == POLLOUT;
	default:
		return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
	}
}

/* The list is in the order of since_ms. NULL when all are young, or kept waiting by us. */
static struct connection *longest_waiting(const struct connections *table, bool sending_only)
{
	int64_t before = now_ms() - table->young_ms;

	for (struct connection *c = table->first; c && c->since_ms <= before; c = c->next) {
		if (c->cut || (sending_only && c->phase != CONNECTION_SENDING))
			continue;
		if (!is_our_turn(c))
			return c;
	}
	return NULL;
}

static bool evict(struct connections *table, bool sending_only)
{
	struct connection *victim = longest_waiting(table, sending_only);

	if (victim)
		cut(victim);
	return victim;
}

bool connections_admit(struct connections *table)
{
	bool room;

	pthread_mutex_lock(&table->lock);
	room = table->admitted - table->cut < table->limit || evict(table, false);
	table->admitted += room;
	pthread_mutex_unlock(&table->lock);
	return room;
}

void connections_refused(struct connections *table)
{
	pthread_mutex_lock(&table->lock);
	table->admitted--;
	pthread_mutex_unlock(&table->lock);
}

bool connections_evict(struct connections *table)
{
	bool evicted;

	pthread_mutex_lock(&table->lock);
	evicted = evict(table, false);
	pthread_mutex_unlock(&table->lock);
	return evicted;
}

static int64_t deadline_ms(const struct connection *connection)
{
	const struct connections *table = connection->table;

	return connection->since_ms +
	       (connection->phase == CONNECTION_IDLE ? table->idle_ms : table->request_ms);
}

/*
 * In its epoll mode libmicrohttpd (0.9.75) takes the edge for used up when a read is short, and so
 * overlooks a peer that sent part of a request and hung up at once. Past its youth, such a
 * connection is not one whose whole request is just being taken in.
 */
static bool left_by_peer(const struct connection *connection, int64_t now)
{
	char byte;

	if (connection->phase == CONNECTION_SENDING ||
	    now - connection->since_ms < connection->table->young_ms)
		return false;
	return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool time_to_check_peers(struct connections *table, int64_t now)
{
	if (now < table->next_check_ms)
		return false;
	table->next_check_ms = now + LOOK_INTERVAL_MS / 2;
	return true;
}

int connections_expire(struct connections *table)
{
	int64_t now = now_ms();
	int64_t next = LOOK_INTERVAL_MS;

	pthread_mutex_lock(&table->lock);
	bool check_peers = time_to_check_peers(table, now);
	if (!table->admitted)
		next = -1;
	for (struct connection *c = table->first; c; c = c->next) {
		if (c->cut || c->phase == CONNECTION_HANDLING)
			continue;
		int64_t left = deadline_ms(c) - now;
		if (left <= 0 || (check_peers && left_by_peer(c, now)))
			cut(c);
		else if (left < next)
			next = left;
	}
	pthread_mutex_unlock(&table->lock);
	return (int)next;
}

static void append(struct connections *table, struct connection *connection)
{
	connection->since_ms = now_ms();
	connection->next = NULL;
	connection->prev = table->last;
	if (table->last)
		table->last->next = connection;
	else
		table->first = connection;
	table->last = connection;
}

static void detach(struct connections *table, struct connection *connection)
{
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		table->first = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
	else
		table->last = connection->prev;
}

struct connection *connection_open(struct connections *table, int fd)
{
	struct connection *connection = alloc_zero(1, sizeof(*connection));

	connection->table = table;
	connection->fd = fd;
	connection->phase = CONNECTION_IDLE;
	pthread_mutex_lock(&table->lock);
	append(table, connection);
	if (table->draining)
		cut(connection);
	pthread_mutex_unlock(&table->lock);
	return connection;
}

static void set_phase(struct connection *connection, enum connection_phase phase,
		      size_t response_bytes)
{
	struct connections *table = connection->table;

	table->busy += is_busy(phase);
	table->busy -= is_busy(connection->phase);
	table->response_bytes += response_bytes;
	table->response_bytes -= connection->response_bytes;
	connection->phase = phase;
	connection->response_bytes = response_bytes;
	detach(table, connection);
	append(table, connection);
	if (!table->busy)
		pthread_cond_broadcast(&table->calm);
}

void connection_close(struct connection *connection)
{
	struct connections *table = connection->table;

	pthread_mutex_lock(&table->lock);
	set_phase(connection, CONNECTION_IDLE, 0);
	detach(table, connection);
	table->admitted--;
	table->cut -= connection->cut;
	pthread_mutex_unlock(&table->lock);
	free(connection);
}

/* The bytes of a connection that was cut are as good as freed. */
static size_t held_bytes(const struct connections *table)
{
	size_t bytes = table->response_bytes;

	for (const struct connection *c = table->first; c; c = c->next)
		bytes -= c->cut ? c->response_bytes : 0;
	return bytes;
}

static void keep_within_memory(struct connections *table)
{
	while (held_bytes(table) > RESPONSE_BYTES_MAX)
		if (!evict(table, true))
			break;
}

void connection_enter(struct connection *connection, enum connection_phase phase,
		      size_t response_bytes)
{
	struct connections *table = connection->table;

	pthread_mutex_lock(&table->lock);
	set_phase(connection, phase, response_bytes);
	if (table->response_bytes > RESPONSE_BYTES_MAX)
		keep_within_memory(table);
	if (table->draining && !is_busy(phase))
		cut(connection);
	pthread_mutex_unlock(&table->lock);
}

void connections_drain(struct connections *table, int64_t wait_ms)
{
	int64_t until = now_ms() + wait_ms;
	struct timespec deadline = {.tv_sec = (time_t)(until / 1000),
				    .tv_nsec = (long)(until % 1000) * 1000000};

	pthread_mutex_lock(&table->lock);
	table->draining = true;
	for (struct connection *c = table->first; c; c = c->next)
		if (!is_busy(c->phase))
			cut(c);
	while (table->busy)
		if (pthread_cond_timedwait(&table->calm, &table->lock, &deadline))
			break;
	pthread_mutex_unlock(&table->lock);
}
