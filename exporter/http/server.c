/*
 * The server's life. Three kinds of threads work together: one accepts (accept.c), one is
 * libmicrohttpd's and reads, parses and writes every connection without ever blocking, and a few
 * run the routes (workers.c) while libmicrohttpd has the connection suspended (request.c).
 */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "http/accept.h"
#include "http/connections.h"
#include "http/listen.h"
#include "http/request.h"
#include "http/workers.h"

#define DEFAULT_CONNECTION_LIMIT 512
#define DEFAULT_TIMEOUT_S	 30

/* Request line and headers of one connection; a longer request gets 414 or 431. */
#define REQUEST_MEMORY_BYTES (32 * 1024)

/* How long http_stop waits for answers under way to be taken. */
#define STOP_GRACE_MS 500

struct http_server {
	struct listeners listeners;
	struct connections connections;
	struct workers workers;
	struct request_context requests;
	struct MHD_Daemon *mhd;
	struct acceptor acceptor;
};

/* Half of the descriptors are for the rest of the program. */
static unsigned connection_limit(const struct http_options *options)
{
	unsigned limit =
		options->connection_limit ? options->connection_limit : DEFAULT_CONNECTION_LIMIT;
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur / 2 < limit)
		limit = (unsigned)(files.rlim_cur / 2);
	return limit ? limit : 1;
}

static int64_t timeout_ms(unsigned seconds)
{
	return 1000 * (int64_t)(seconds ? seconds : DEFAULT_TIMEOUT_S);
}

static int take_socket(void *context, int fd, const void *address, unsigned length)
{
	struct http_server *server = context;

	/* libmicrohttpd closes the socket when it does not want it. */
	return MHD_add_connection(server->mhd, fd, address, length) == MHD_YES ? 0 : -ENOMEM;
}

static void notify_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		int fd =
			MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		*socket_context = connection_open(&server->connections, fd);
	} else {
		connection_close(*socket_context);
	}
}

/*
 * epoll, because in its poll mode libmicrohttpd takes a client that closed its sending side
 * (`printf … | nc -N`) for gone and does not answer. Its own limit is never reached: connections
 * that were cut close a moment later.
 */
static struct MHD_Daemon *start_mhd(struct http_server *server)
{
	const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
			       MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;

	return MHD_start_daemon(flags, 0, NULL, NULL, request_handle, &server->requests,
				MHD_OPTION_CONNECTION_LIMIT, 4 * server->connections.limit + 1024,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MEMORY_BYTES,
				MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_STRICT_FOR_CLIENT, 1,
				MHD_OPTION_NOTIFY_CONNECTION, notify_connection, server,
				MHD_OPTION_NOTIFY_COMPLETED, request_end, NULL,
				MHD_OPTION_URI_LOG_CALLBACK, request_begin, NULL,
				MHD_OPTION_UNESCAPE_CALLBACK, request_keep_escapes, NULL,
				MHD_OPTION_END);
}

static int start_threads(struct http_server *server)
{
	int code = workers_start(&server->workers);

	if (code)
		return code;
	server->mhd = start_mhd(server);
	code = server->mhd ? accept_start(&server->acceptor, &server->listeners,
					  &server->connections, take_socket, server)
			   : -EAGAIN;
	if (!code)
		return 0;
	if (server->mhd)
		MHD_stop_daemon(server->mhd);
	workers_stop(&server->workers);
	workers_fini(&server->workers);
	return code;
}

/* Signals are the main thread's. */
static int start_threads_without_signals(struct http_server *server)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = start_threads(server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void free_server(struct http_server *server)
{
	connections_fini(&server->connections);
	listen_close(&server->listeners);
	free(server);
}

int http_start(const struct http_options *options, struct http_server **out, struct err *err)
{
	struct http_server *server = alloc_zero(1, sizeof(*server));
	int code = options->inherit ? listen_inherit(&server->listeners, err)
				    : listen_open(options->listen, options->n_listen,
						  &server->listeners, err);

	*out = NULL;
	connections_init(&server->connections, connection_limit(options),
			 timeout_ms(options->idle_timeout_s),
			 timeout_ms(options->request_timeout_s));
	server->requests = (struct request_context){.routes = options->routes,
						    .n_routes = options->n_routes,
						    .workers = &server->workers};
	if (!code) {
		if (options->before_threads)
			options->before_threads(options->before_threads_context);
		code = start_threads_without_signals(server);
		if (code)
			err_set(err, code, REASON_OUT_OF_RESOURCES,
				"cannot start the HTTP server: %s", strerror(-code));
	}
	if (code)
		free_server(server);
	else
		*out = server;
	return code;
}

const char *http_address(const struct http_server *server, size_t n)
{
	return n < server->listeners.n ? server->listeners.at[n].address : NULL;
}

void http_stop(struct http_server *server)
{
	if (!server)
		return;
	accept_stop(&server->acceptor);
	listen_close(&server->listeners);
	connections_drain(&server->connections, STOP_GRACE_MS);
	/* The workers end first: libmicrohttpd must not stop with connections suspended. */
	workers_stop(&server->workers);
	MHD_stop_daemon(server->mhd);
	workers_fini(&server->workers);
	free_server(server);
}
