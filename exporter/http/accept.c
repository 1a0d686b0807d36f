/* The accepting thread. */
#include "http/accept.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

/* Out of descriptors or memory: how long to let the others give some back. */
#define EXHAUSTED_WAIT_MS 10

/* So that a flood of connections does not keep the deadlines from being looked at. */
#define ACCEPTS_AT_ONCE 64

static bool is_exhaustion(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

/* 0, or the errno of accept4: EAGAIN when nobody is waiting. */
static int accept_one(struct acceptor *acceptor, int listen_fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	int fd =
		accept4(listen_fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return errno;
	connections_admit(acceptor->connections);
	if (acceptor->take(acceptor->context, fd, &peer, length))
		connections_refused(acceptor->connections);
	return 0;
}

/* Whether descriptors or memory ran out. */
static bool accept_waiting(struct acceptor *acceptor, int listen_fd)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int code = accept_one(acceptor, listen_fd);
		if (is_exhaustion(code))
			return true;
		if (code == EAGAIN)
			break;
		/* Anything else is about one peer that has gone already: accept(2), "Error
		 * handling". */
	}
	return false;
}

/* The listening sockets stay readable, so polling them would only burn the CPU meanwhile. */
static void wait_for_descriptors(struct acceptor *acceptor, struct pollfd *stop)
{
	connections_evict(acceptor->connections);
	poll(stop, 1, EXHAUSTED_WAIT_MS);
}

static void note_exhaustion(bool now, bool *before)
{
	if (now && !*before)
		log_warn(
			"HTTP: out of file descriptors or memory, dropping the oldest connections");
	*before = now;
}

static void *accept_loop(void *argument)
{
	struct acceptor *acceptor = argument;
	size_t n = acceptor->listeners->n;
	_cleanup_free_ struct pollfd *fds = alloc_zero(n + 1, sizeof(*fds));
	bool exhausted = false;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = acceptor->listeners->at[i].fd, .events = POLLIN};
	fds[n] = (struct pollfd){.fd = acceptor->stop_fd, .events = POLLIN};
	while (!(fds[n].revents & POLLIN)) {
		bool again = false;
		if (poll(fds, n + 1, connections_expire(acceptor->connections)) < 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (fds[i].revents)
				again |= accept_waiting(acceptor, fds[i].fd);
		note_exhaustion(again, &exhausted);
		if (again)
			wait_for_descriptors(acceptor, &fds[n]);
	}
	return NULL;
}

int accept_start(struct acceptor *acceptor, const struct listeners *listeners,
		 struct connections *connections,
		 int (*take)(void *context, int fd, const void *address, unsigned length),
		 void *context)
{
	*acceptor = (struct acceptor){.listeners = listeners,
				      .connections = connections,
				      .take = take,
				      .context = context};
	acceptor->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (acceptor->stop_fd < 0)
		return -errno;
	int failure = pthread_create(&acceptor->thread, NULL, accept_loop, acceptor);
	if (failure)
		close(acceptor->stop_fd);
	return -failure;
}

void accept_stop(struct acceptor *acceptor)
{
	eventfd_write(acceptor->stop_fd, 1);
	pthread_join(acceptor->thread, NULL);
	close(acceptor->stop_fd);
}
