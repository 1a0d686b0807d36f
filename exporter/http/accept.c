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
#include "base/clock.h"
#include "base/log.h"

/* At a limit: how long to let the connections that were cut give back what they hold. */
#define LIMIT_WAIT_MS  10
#define LOG_INTERVAL_S 60

/* The connection limit, or the process's limits on descriptors and memory. */
static bool is_limit(int code)
{
	return code == EBUSY || code == EMFILE || code == ENFILE || code == ENOBUFS ||
	       code == ENOMEM;
}

/*
 * Called once for each time poll said that somebody is waiting: trying for more would make room
 * for nobody. EBUSY when there is no room, else 0 or the errno of accept4, which unless it is a
 * limit's is about one peer that has gone already (accept(2), "Error handling").
 */
static int accept_one(struct acceptor *acceptor, int listen_fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	if (!connections_admit(acceptor->connections))
		return EBUSY;
	int fd =
		accept4(listen_fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int code = fd < 0 ? errno : 0;
	if (code || acceptor->take(acceptor->context, fd, &peer, length))
		connections_refused(acceptor->connections);
	return code;
}

/* Said once a minute at most: a flood of connections must not become a flood of log lines. */
static void note_limit(time_t *silent_until)
{
	time_t now = clock_now_s();

	if (now < *silent_until)
		return;
	*silent_until = now + LOG_INTERVAL_S;
	log_warn("HTTP: out of connections, file descriptors or memory; dropping the "
		 "longest-waiting clients");
}

static void *accept_loop(void *argument)
{
	struct acceptor *acceptor = argument;
	size_t n = acceptor->listeners->n;
	_cleanup_free_ struct pollfd *fds = alloc_zero(n + 1, sizeof(*fds));
	time_t silent_until = 0;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = acceptor->listeners->at[i].fd, .events = POLLIN};
	fds[n] = (struct pollfd){.fd = acceptor->stop_fd, .events = POLLIN};
	while (!(fds[n].revents & POLLIN)) {
		bool at_limit = false;
		if (poll(fds, n + 1, connections_expire(acceptor->connections)) < 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (fds[i].revents)
				at_limit |= is_limit(accept_one(acceptor, fds[i].fd));
		if (!at_limit)
			continue;
		note_limit(&silent_until);
		/* The listening sockets stay readable: polling them would only burn the CPU. */
		connections_evict(acceptor->connections);
		poll(&fds[n], 1, LIMIT_WAIT_MS);
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
