/*
 * The open connections, and how long each may take for what it is doing. libmicrohttpd's own
 * time-out starts anew with every byte, so a client that sends or takes a byte a second would
 * never be dropped; here each phase has a total limit. A connection is cut with shutdown(2), upon
 * which libmicrohttpd closes it; the table's lock keeps the descriptor from being closed (and
 * used again) meanwhile.
 *
 * When the limit is reached the connection that has been longest in its phase makes room for the
 * new one: clients that hold connections cannot keep a scrape out, they only push out each other.
 * None is pushed out in its first moments, nor while it is us who keep it waiting, so that a flood
 * cannot take the turn of a healthy client either: the flood waits in the kernel's queue.
 */
#ifndef HTTP_CONNECTIONS_H
#define HTTP_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum connection_phase {
	CONNECTION_IDLE,     /* new, or between two requests: limited by idle_ms */
	CONNECTION_READING,  /* the request line has come, the rest has not: request_ms */
	CONNECTION_HANDLING, /* a route works on the answer: no limit, it is our own code */
	CONNECTION_SENDING,  /* the answer is on its way: request_ms */
};

struct connection {
	struct connections *table;
	struct connection *prev, *next;
	int fd; /* libmicrohttpd's */
	enum connection_phase phase;
	int64_t since_ms;      /* when the phase began, CLOCK_MONOTONIC */
	size_t response_bytes; /* held for a client that has not taken them */
	bool cut;	       /* shut down, about to be closed */
};

struct connections {
	pthread_mutex_t lock;
	pthread_cond_t calm;		 /* nobody is in HANDLING or SENDING */
	struct connection *first, *last; /* in the order in which their phases began */
	int64_t idle_ms, request_ms;
	int64_t young_ms;      /* so long after its phase began a connection is not evicted */
	int64_t next_check_ms; /* when to look for peers that hung up */
	unsigned limit;
	unsigned admitted; /* given to libmicrohttpd and not yet closed */
	unsigned cut;	   /* of these, the ones shut down */
	unsigned busy;	   /* HANDLING or SENDING */
	size_t response_bytes;
	bool draining;
};

void connections_init(struct connections *table, unsigned limit, int64_t idle_ms,
		      int64_t request_ms);
/* All connections must be closed. */
void connections_fini(struct connections *table);

/* Count one more connection in, cutting the longest-waiting one if the limit asks for it. False:
 * no room yet, ask again in a few milliseconds. */
bool connections_admit(struct connections *table);
/* Take back connections_admit: the connection did not come to be. */
void connections_refused(struct connections *table);
/* Cut the connection that has been longest in its phase, of those that are not young and whose
 * client it is that we wait for. */
bool connections_evict(struct connections *table);
/* Cut what is overdue or was left by its peer. Milliseconds until the next look is due, -1 when
 * there is no connection. */
int connections_expire(struct connections *table);

/* An admitted connection begins; owned by the table until connection_close. */
struct connection *connection_open(struct connections *table, int fd);
/* Before its descriptor is closed. Frees it. */
void connection_close(struct connection *connection);
/* `response_bytes` is what the server holds for it from now on. */
void connection_enter(struct connection *connection, enum connection_phase phase,
		      size_t response_bytes);

/*
 * For the stop: cut connections without a request, and from now on each one when its answer is
 * sent. Returns when no answer is under way, or after `wait_ms` milliseconds.
 */
void connections_drain(struct connections *table, int64_t wait_ms);

#endif
