/*
 * What the tests of the HTTP server share: a server on a free port of the loopback with a few
 * routes, and a client that sends and receives raw bytes.
 */
#ifndef TESTS_HTTP_CLIENT_H
#define TESTS_HTTP_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "http/server.h"

#define BIG_BODY_BYTES (1u << 20)
#define WAIT_MS	       120000 /* nothing takes that long unless it hangs */

/* How many handlers of /slow run, have run at once, and until when they wait. */
static atomic_int slow_running, slow_most, slow_release;

static inline int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

static inline void serve_small(void *context, const struct http_request *request,
			       struct http_response *response)
{
	(void)context;
	(void)request;
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	strbuf_puts(&response->body, "up 1\n");
}

/* 1 MiB of a repetitive text. */
static inline void serve_big(void *context, const struct http_request *request,
			     struct http_response *response)
{
	(void)context;
	(void)request;
	for (unsigned i = 0; i < BIG_BODY_BYTES / 16; i++)
		strbuf_puts(&response->body, "0123456789abcde\n");
}

static inline void serve_slow(void *context, const struct http_request *request,
			      struct http_response *response)
{
	int running = atomic_fetch_add(&slow_running, 1) + 1;
	int most = atomic_load(&slow_most);

	(void)context;
	(void)request;
	while (running > most && !atomic_compare_exchange_weak(&slow_most, &most, running))
		;
	for (int i = 0; i < WAIT_MS && !atomic_load(&slow_release); i++)
		sleep_ms(1);
	atomic_fetch_sub(&slow_running, 1);
	strbuf_puts(&response->body, "slow\n");
}

/* What the route was told. */
static inline void serve_echo(void *context, const struct http_request *request,
			      struct http_response *response)
{
	const char *accept = request->header(request, "accept");

	(void)context;
	response->status = 202;
	strbuf_printf(&response->body, "%s %s accept=%s\n", request->method, request->path,
		      accept ? accept : "(none)");
}

static const struct http_route routes[] = {
	{"/", "GET", serve_small, NULL},
	{"/metrics", "GET", serve_small, NULL},
	{"/big", "GET", serve_big, NULL},
	{"/slow", "GET", serve_slow, NULL},
	{"/echo", "GET PUT POST", serve_echo, NULL},
};

static inline struct http_options default_options(void)
{
	static const char *const loopback[] = {"127.0.0.1:0"};

	return (struct http_options){.listen = loopback,
				     .n_listen = 1,
				     .routes = routes,
				     .n_routes = sizeof(routes) / sizeof(routes[0])};
}

static inline struct http_server *start_server(const struct http_options *options)
{
	struct http_server *server;
	struct err err = {0};
	int code = http_start(options, &server, &err);

	if (code)
		fail_msg("http_start: %d %s", code, err.msg);
	return server;
}

static inline int port_of(const char *address)
{
	return atoi(strrchr(address, ':') + 1);
}

/* Connect over IPv4 or, for "[::1]…" and "[::]…", over the family asked for. */
static inline int dial_address(const char *address, int family)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons((in_port_t)port_of(address)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons((in_port_t)port_of(address)),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr *peer =
		family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, peer, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline int dial(const struct http_server *server)
{
	int fd = dial_address(http_address(server, 0), AF_INET);

	assert_true(fd >= 0);
	return fd;
}

/* As much as the server takes; a server that has closed is not an error. */
static inline void send_text(int fd, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t n = send(fd, text, length, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

/* Bytes received, 0 at the end or a reset; fails the test when nothing happens for WAIT_MS. */
static inline size_t receive_some(int fd, char *bytes, size_t room)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (poll(&ready, 1, WAIT_MS) != 1)
		fail_msg("the server neither answers nor closes");
	ssize_t n = recv(fd, bytes, room, 0);
	return n > 0 ? (size_t)n : 0;
}

static inline void receive_all(int fd, struct strbuf *out)
{
	char bytes[65536];
	size_t n;

	while ((n = receive_some(fd, bytes, sizeof(bytes))))
		strbuf_add(out, bytes, n);
}

/* One response on a connection that stays open: headers, and Content-Length bytes of body. */
static inline void receive_one(int fd, int with_body, struct strbuf *out)
{
	const char *end, *length;
	size_t want = SIZE_MAX;
	char byte;

	while (out->length < want) {
		if (!receive_some(fd, &byte, 1))
			fail_msg("closed after: %s", strbuf_text(out));
		strbuf_add(out, &byte, 1);
		if (want != SIZE_MAX || byte != '\n' || !(end = strstr(out->text, "\r\n\r\n")))
			continue;
		length = strcasestr(out->text, "\r\nContent-Length: ");
		want = out->length;
		if (with_body && length)
			want += strtoul(length + 18, NULL, 10);
		(void)end;
	}
}

/* The Date header is the one thing that differs each time. */
static inline void drop_date(struct strbuf *response)
{
	char *date = response->text ? strstr(response->text, "Date: ") : NULL;

	if (!date)
		return;
	char *next = strstr(date, "\r\n") + 2;
	memmove(date, next, response->length - (size_t)(next - response->text) + 1);
	response->length -= (size_t)(next - date);
}

/* Everything the server answers to `request` until it closes, without the date. Free it. */
static inline char *exchange(const struct http_server *server, const char *request)
{
	struct strbuf response;
	int fd = dial(server);

	strbuf_init(&response);
	send_text(fd, request);
	receive_all(fd, &response);
	close(fd);
	drop_date(&response);
	return strbuf_take(&response);
}

static inline void assert_starts(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)))
		fail_msg("want \"%s\" first, got: %.300s", start, text);
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("want \"%s\" in: %.600s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("want no \"%s\" in: %.600s", part, text);
}

static inline void assert_scrape_works(const struct http_server *server)
{
	char *response = exchange(server, "GET /metrics HTTP/1.0\r\n\r\n");

	assert_starts(response, "HTTP/1.");
	assert_has(response, "\r\n\r\nup 1\n");
	free(response);
}

/* Where others may push a client out before its request is read: some scrape gets through. */
static inline void assert_some_scrape_works(const struct http_server *server)
{
	bool works = false;

	for (int i = 0; i < 1000 && !works; i++) {
		char *response = exchange(server, "GET /metrics HTTP/1.0\r\n\r\n");
		works = strstr(response, "\r\n\r\nup 1\n");
		free(response);
	}
	assert_true(works);
}

static inline int count_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Sockets close in the server's threads: give them time. */
static inline void assert_open_files_return_to(int baseline)
{
	int64_t until = clock_ms() + WAIT_MS;

	while (count_open_files() > baseline && clock_ms() < until)
		sleep_ms(5);
	assert_int_equal(count_open_files(), baseline);
}

#endif
