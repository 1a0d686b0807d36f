/*
 * The thread that accepts connections for every listen address and enforces the table's limits.
 * libmicrohttpd could accept by itself, but it would stop accepting at its limit, spin when the
 * process is out of descriptors, and need a daemon for each address.
 */
#ifndef HTTP_ACCEPT_H
#define HTTP_ACCEPT_H

#include <pthread.h>

#include "http/connections.h"
#include "http/listen.h"

struct acceptor {
	const struct listeners *listeners; /* borrowed */
	struct connections *connections;   /* borrowed */
	int (*take)(void *context, int fd, const void *address, unsigned length);
	void *context;
	int stop_fd;
	pthread_t thread;
};

/*
 * Start the thread: 0 or -errno. `take` gets each accepted socket, which it owns, with the peer's
 * address (a struct sockaddr); it returns 0 or -errno when there will be no connection.
 */
int accept_start(struct acceptor *acceptor, const struct listeners *listeners,
		 struct connections *connections,
		 int (*take)(void *context, int fd, const void *address, unsigned length),
		 void *context);
void accept_stop(struct acceptor *acceptor);

#endif
