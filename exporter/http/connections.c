/* The table of connections: phases, deadlines, eviction. */
#include "http/connections.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"

/* Responses held for clients that do not take them: beyond this the oldest are given up, unless
 * they were queued so recently that a healthy client may still be reading. */
#define RESPONSE_BYTES_MAX (64u << 20)
#define HEALTHY_READER_MS  250

/* Deadlines are set by other threads than the one that looks; it looks at least this often. */
#define LOOK_INTERVAL_MS 500

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void connections_init(struct connections *table, unsigned limit, int64_t idle_ms,
		      int64_t request_ms)
{
	pthread_condattr_t monotonic;

	*table = (struct connections){.limit = limit, .idle_ms = idle_ms, .request_ms = request_ms};
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

static bool waits_for_us(const struct connection *connection)
{
	return connection->cut || connection->phase == CONNECTION_HANDLING;
}

static struct connection *longest_waiting(const struct connections *table, bool sending_only)
{
	struct connection *oldest = NULL;

	for (struct connection *c = table->first; c; c = c->next) {
		if (waits_for_us(c) || (sending_only && c->phase != CONNECTION_SENDING))
			continue;
		if (!oldest || c->since_ms <= oldest->since_ms)
			oldest = c;
	}
	return oldest;
}

static void evict(struct connections *table)
{
	struct connection *victim = longest_waiting(table, false);

	if (victim)
		cut(victim);
}

void connections_admit(struct connections *table)
{
	pthread_mutex_lock(&table->lock);
	if (table->admitted - table->cut >= table->limit)
		evict(table);
	table->admitted++;
	pthread_mutex_unlock(&table->lock);
}

void connections_refused(struct connections *table)
{
	pthread_mutex_lock(&table->lock);
	table->admitted--;
	pthread_mutex_unlock(&table->lock);
}

void connections_evict(struct connections *table)
{
	pthread_mutex_lock(&table->lock);
	evict(table);
	pthread_mutex_unlock(&table->lock);
}

static int64_t deadline_ms(const struct connection *connection)
{
	const struct connections *table = connection->table;

	return connection->since_ms +
	       (connection->phase == CONNECTION_IDLE ? table->idle_ms : table->request_ms);
}

int connections_expire(struct connections *table)
{
	int64_t now = now_ms();
	int64_t next = LOOK_INTERVAL_MS;

	pthread_mutex_lock(&table->lock);
	if (!table->admitted)
		next = -1;
	for (struct connection *c = table->first; c; c = c->next) {
		if (waits_for_us(c))
			continue;
		int64_t left = deadline_ms(c) - now;
		if (left <= 0)
			cut(c);
		else if (left < next)
			next = left;
	}
	pthread_mutex_unlock(&table->lock);
	return (int)next;
}

struct connection *connection_open(struct connections *table, int fd)
{
	struct connection *connection = alloc_zero(1, sizeof(*connection));

	connection->table = table;
	connection->fd = fd;
	connection->phase = CONNECTION_IDLE;
	connection->since_ms = now_ms();
	pthread_mutex_lock(&table->lock);
	connection->next = table->first;
	if (table->first)
		table->first->prev = connection;
	table->first = connection;
	if (table->draining)
		cut(connection);
	pthread_mutex_unlock(&table->lock);
	return connection;
}

static void unlink_connection(struct connections *table, struct connection *connection)
{
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		table->first = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
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
	connection->since_ms = now_ms();
	if (!table->busy)
		pthread_cond_broadcast(&table->calm);
}

void connection_close(struct connection *connection)
{
	struct connections *table = connection->table;

	pthread_mutex_lock(&table->lock);
	set_phase(connection, CONNECTION_IDLE, 0);
	unlink_connection(table, connection);
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
	struct connection *oldest;

	while (held_bytes(table) > RESPONSE_BYTES_MAX && (oldest = longest_waiting(table, true)) &&
	       now_ms() - oldest->since_ms > HEALTHY_READER_MS)
		cut(oldest);
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
