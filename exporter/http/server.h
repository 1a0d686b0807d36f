/*
 * The HTTP server: listening sockets, connections, limits and time-outs (libmicrohttpd). What a
 * request means is up to the routes that the daemon gives; this file knows no metric.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

struct http_request {
	const char *method; /* "GET"; a HEAD request comes as GET, its body is not sent */
	const char *path;   /* without the query; percent-decoded */
	/* A header's value, NULL when absent. Several headers of one name are joined by ", ". */
	const char *(*header)(const struct http_request *request, const char *name);
	void *impl;
};

struct http_response {
	int status;		  /* 200 unless the route sets another */
	const char *content_type; /* static storage; "text/plain; charset=utf-8" unless set */
	struct strbuf body;	  /* handed to the server */
};

/* Answers one path. Routes run in the server's threads, several at once. */
struct http_route {
	const char *path;    /* exact */
	const char *methods; /* "GET" (HEAD comes along) or "GET PUT POST"…; others get 405 with
				Allow */
	void (*handle)(void *context, const struct http_request *request,
		       struct http_response *response);
	void *context;
};

struct http_options {
	/* Called when the sockets are open and before any thread is started; may be NULL. */
	void (*before_threads)(void *context);
	void *before_threads_context;
	const char *const *listen; /* n_listen addresses: ":10435", "127.0.0.1:0", "[::1]:9000" */
	size_t n_listen;
	bool inherit; /* instead: the sockets that the service manager passes, see listen_inherit */
	const struct http_route *routes; /* n_routes, borrowed until http_stop */
	size_t n_routes;
	unsigned connection_limit;  /* 0: the default (512); at most half of RLIMIT_NOFILE. When it
				     * is reached, the longest-waiting connection is dropped */
	unsigned idle_timeout_s;    /* 0: the default (30): for the first bytes of a request, on a
				     * new connection and between two requests */
	unsigned request_timeout_s; /* 0: the default (30): for a client to send the whole request,
				     * and again to take the whole response, however steadily */
};

struct http_server;

/* Listen on every address or on none: 0, or -errno and `err` naming the address at fault. */
int http_start(const struct http_options *options, struct http_server **server, struct err *err);

/* The n-th address really listened on, as "127.0.0.1:41234" or "[::]:10435"; NULL past the end. */
const char *http_address(const struct http_server *server, size_t n);

/*
 * Stop accepting, finish requests under way, close. Clients that do not take their response are
 * waited for half a second in all; a route that is running is waited for until it returns. NULL
 * is fine.
 */
void http_stop(struct http_server *server);

#endif
