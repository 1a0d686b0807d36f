/* One request to ourselves, over plain sockets: an HTTP client library would be the larger part. */
#include "cmd_healthcheck.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/listen.h"
#include "options.h"

enum { TIMEOUT_S = 5 }; /* for each of connecting, sending and receiving */

static const char request[] = "GET /-/ready HTTP/1.0\r\n\r\n";

static int connect_to(const struct addrinfo *ai)
{
	struct timeval limit = {.tv_sec = TIMEOUT_S};
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect(2) as well */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, ai->ai_addr, ai->ai_addrlen))
		return fd;
	int code = -errno;
	close(fd);
	return code;
}

/* A socket on the first of the host's addresses that takes us; the last one's -errno otherwise. */
static int connect_any(const struct listen_spec *spec)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int fd = -EADDRNOTAVAIL;

	/* No host: 127.0.0.1 and ::1. The any-addresses reach the same when connected to. */
	if (getaddrinfo(*spec->host ? spec->host : NULL, spec->port, &hints, &list))
		return fd;
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_to(ai);
	freeaddrinfo(list);
	return fd;
}

/* The status of the answer; -errno when there is none. */
static int ask(int fd)
{
	char answer[64] = "";
	int status;
	size_t length = 0;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return -errno;
	while (length < sizeof(answer) - 1) {
		ssize_t n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0);
		if (n < 0)
			return -errno;
		if (!n)
			break;
		length += (size_t)n;
	}
	return sscanf(answer, "HTTP/1.%*1[01] %3d", &status) == 1 ? status : -EPROTO;
}

static int fail(const char *address, const char *why)
{
	fprintf(stderr, "uprobe_exporter: not ready: \"%s\": %s\n", address, why);
	return EXIT_CANNOT;
}

/* The socket's time is up: connect(2) calls it EINPROGRESS, send(2) and recv(2) EAGAIN. */
static const char *why_not(int code)
{
	return code == -EAGAIN || code == -EINPROGRESS ? "no answer in time" : strerror(-code);
}

int cmd_healthcheck(const char *address)
{
	struct listen_spec spec;
	struct err err;

	if (listen_parse(address, &spec, &err)) {
		fprintf(stderr, "uprobe_exporter: %s\n", err.msg);
		return EXIT_USAGE;
	}
	int fd = connect_any(&spec);
	if (fd < 0)
		return fail(address, why_not(fd));
	int status = ask(fd);
	close(fd);
	if (status < 0)
		return fail(address, why_not(status));
	if (status == 200)
		return EXIT_OK;
	return fail(address, status == 503 ? "it is still attaching" : "another answer than 200");
}
