/* Listen addresses: their written forms, and the sockets they stand for. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

/* A client that is given up on would otherwise hold as many megabytes of unsent response in the
 * kernel as tcp_wmem allows (4 MB). The kernel doubles the value. */
#define SEND_BUFFER_BYTES (128 * 1024)

#define FIRST_INHERITED	  3 /* SD_LISTEN_FDS_START */
#define MOST_INHERITED	  64

#define ACCEPTED_FORMS	  "\":PORT\", \"IPV4:PORT\", \"[IPV6]:PORT\" or \"NAME:PORT\""
#define NAME_CHARACTERS	  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

static int bad_address(struct err *err, const char *text, const char *why)
{
	return err_set(err, -EINVAL, REASON_CONFIG,
		       "listen address \"%s\": %s; write " ACCEPTED_FORMS, text, why);
}

static int valid_port(const char *port)
{
	size_t length = strlen(port);
	unsigned value = 0;

	if (!length || length > 5 || strspn(port, "0123456789") != length)
		return 0;
	return sscanf(port, "%5u", &value) == 1 && value <= 65535;
}

/* What is wrong with the host of `spec`, or NULL. */
static const char *host_fault(const struct listen_spec *spec)
{
	struct in6_addr v6;
	struct in_addr v4;
	char bare[sizeof(spec->host)];

	if (spec->ipv6) {
		snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(spec->host, "%"), spec->host);
		return inet_pton(AF_INET6, bare, &v6) == 1 ? NULL : "not an IPv6 address";
	}
	if (strchr(spec->host, ':'))
		return "an IPv6 address needs brackets";
	if (strspn(spec->host, NAME_CHARACTERS) != strlen(spec->host))
		return "not a host name";
	if (*spec->host && strspn(spec->host, "0123456789.") == strlen(spec->host) &&
	    inet_pton(AF_INET, spec->host, &v4) != 1)
		return "not an IPv4 address";
	return NULL;
}

int listen_parse(const char *text, struct listen_spec *spec, struct err *err)
{
	const char *colon = strrchr(text, ':');
	const char *bracket = strchr(text, ']');
	size_t length;

	memset(spec, 0, sizeof(*spec));
	if (!*text)
		return bad_address(err, text, "empty");
	if (strstr(text, "://"))
		return bad_address(err, text, "only TCP addresses are supported, no scheme");
	if (!colon || (bracket && colon < bracket))
		return bad_address(err, text, "the port is missing");
	length = (size_t)(colon - text);
	if (*text == '[') {
		if (!bracket || bracket + 1 != colon)
			return bad_address(err, text, "unbalanced brackets");
		spec->ipv6 = 1;
		text++;
		length -= 2;
	}
	if (length >= sizeof(spec->host))
		return bad_address(err, text, "the host name is too long");
	memcpy(spec->host, text, length);
	text -= spec->ipv6;
	if (!valid_port(colon + 1))
		return bad_address(err, text, "the port must be a number from 0 to 65535");
	snprintf(spec->port, sizeof(spec->port), "%.5s", colon + 1);
	const char *fault = host_fault(spec);
	return fault ? bad_address(err, text, fault) : 0;
}

/* A listening socket on one address: the descriptor or -errno. */
static int listen_on(const struct sockaddr *address, socklen_t length)
{
	int on = 1, off = 0, send_buffer = SEND_BUFFER_BYTES;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, address, length) < 0 || listen(fd, SOMAXCONN) < 0) {
		int code = -errno;
		close(fd);
		return code;
	}
	return fd;
}

static void put_address(int fd, char *out, size_t room)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	char host[64], port[8];

	if (getsockname(fd, (struct sockaddr *)&bound, &length) ||
	    getnameinfo((struct sockaddr *)&bound, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(out, room, "?");
	else
		snprintf(out, room, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* Takes the descriptor; a negative one is handed back as the error it is. */
static int add_listener(struct listeners *listeners, int fd)
{
	struct listener *listener;

	if (fd < 0)
		return fd;
	listeners->at = alloc_resize(listeners->at, listeners->n + 1, sizeof(*listeners->at));
	listener = &listeners->at[listeners->n++];
	listener->fd = fd;
	put_address(fd, listener->address, sizeof(listener->address));
	return 0;
}

/* The machine has no such address, or no such family of addresses. */
static int not_here(int code)
{
	return code == -EADDRNOTAVAIL || code == -EAFNOSUPPORT;
}

static int open_any(const struct listen_spec *spec, struct listeners *listeners)
{
	in_port_t port = htons((in_port_t)strtoul(spec->port, NULL, 10));
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	int code = add_listener(listeners, listen_on((struct sockaddr *)&v6, sizeof(v6)));

	if (not_here(code))
		code = add_listener(listeners, listen_on((struct sockaddr *)&v4, sizeof(v4)));
	return code;
}

/* glibc gives 127.0.0.1 twice where /etc/hosts calls both loopback addresses by one name. */
static int seen_before(const struct addrinfo *first, const struct addrinfo *ai)
{
	for (; first != ai; first = first->ai_next)
		if (first->ai_addrlen == ai->ai_addrlen &&
		    !memcmp(first->ai_addr, ai->ai_addr, ai->ai_addrlen))
			return 1;
	return 0;
}

/* Listen on each address of the list that this machine has; an error when it has none. */
static int open_each(const struct addrinfo *list, int first_only, struct listeners *listeners)
{
	size_t before = listeners->n;
	int code = -EADDRNOTAVAIL;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		if (seen_before(list, ai))
			continue;
		code = add_listener(listeners, listen_on(ai->ai_addr, ai->ai_addrlen));
		if (code && !not_here(code))
			return code;
		if (!code && first_only)
			break;
	}
	return listeners->n > before ? 0 : code;
}

static int open_named(const char *text, const struct listen_spec *spec, struct listeners *listeners,
		      struct err *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | (spec->ipv6 ? AI_NUMERICHOST : 0)};
	struct addrinfo *list;
	int failure = getaddrinfo(spec->host, spec->port, &hints, &list);

	if (failure)
		return err_set(err, -EADDRNOTAVAIL, REASON_CONFIG,
			       "listen address \"%s\": cannot resolve \"%s\": %s", text, spec->host,
			       gai_strerror(failure));
	int code = open_each(list, !strtoul(spec->port, NULL, 10), listeners);
	freeaddrinfo(list);
	return code;
}

static const struct {
	int code;
	enum reason reason;
	const char *text;
} failures[] = {
	{-EADDRINUSE, REASON_CONFIG, "address already in use (is another instance running?)"},
	{-EADDRNOTAVAIL, REASON_CONFIG, "this machine has no such address"},
	{-EAFNOSUPPORT, REASON_CONFIG, "this machine has no such kind of address"},
	{-EACCES, REASON_PERMISSION,
	 "permission denied (ports below 1024 need CAP_NET_BIND_SERVICE)"},
};

static int cannot_listen(struct err *err, const char *text, int code)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (failures[i].code == code)
			return err_set(err, code, failures[i].reason, "cannot listen on \"%s\": %s",
				       text, failures[i].text);
	return err_set(err, code, REASON_OUT_OF_RESOURCES, "cannot listen on \"%s\": %s", text,
		       strerror(-code));
}

static int open_one(const char *text, struct listeners *listeners, struct err *err)
{
	struct listen_spec spec;
	struct err unresolved = {0};
	int code = listen_parse(text, &spec, err);

	if (code)
		return code;
	code = *spec.host ? open_named(text, &spec, listeners, &unresolved)
			  : open_any(&spec, listeners);
	if (code && unresolved.code)
		return err_set(err, code, unresolved.reason, "%s", unresolved.msg);
	return code ? cannot_listen(err, text, code) : 0;
}

int listen_open(const char *const *addresses, size_t n, struct listeners *listeners,
		struct err *err)
{
	memset(listeners, 0, sizeof(*listeners));
	if (!n)
		return err_set(err, -EINVAL, REASON_CONFIG,
			       "no listen address given; write " ACCEPTED_FORMS);
	for (size_t i = 0; i < n; i++) {
		int code = open_one(addresses[i], listeners, err);
		if (code) {
			listen_close(listeners);
			return code;
		}
	}
	return 0;
}

/* The variables are for this process alone: none that it starts may take them for its own. */
static unsigned long take_inherited_count(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	bool ours = pid && fds && strtoul(pid, NULL, 10) == (unsigned long)getpid();
	unsigned long n = ours ? strtoul(fds, NULL, 10) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return n;
}

static int get_option(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) ? -1 : value;
}

static bool is_tcp_listener(int fd)
{
	int domain = get_option(fd, SO_DOMAIN);

	return get_option(fd, SO_ACCEPTCONN) == 1 && get_option(fd, SO_TYPE) == SOCK_STREAM &&
	       (domain == AF_INET || domain == AF_INET6);
}

static int inherit_one(struct listeners *listeners, int fd, struct err *err)
{
	int send_buffer = SEND_BUFFER_BYTES, flags = fcntl(fd, F_GETFL);

	add_listener(listeners, fd);
	if (!is_tcp_listener(fd) || flags < 0)
		return err_set(
			err, -ENOTSOCK, REASON_CONFIG,
			"what the service manager passed as descriptor %d is not a listening "
			"TCP socket",
			fd);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	return 0;
}

int listen_inherit(struct listeners *listeners, struct err *err)
{
	unsigned long n = take_inherited_count();
	int code = 0;

	memset(listeners, 0, sizeof(*listeners));
	if (!n)
		return err_set(err, -ENOTCONN, REASON_CONFIG,
			       "the service manager passed no sockets ($LISTEN_FDS, $LISTEN_PID): "
			       "--web.systemd-socket is for a service that a socket unit starts");
	if (n > MOST_INHERITED)
		return err_set(
			err, -ENOTCONN, REASON_CONFIG,
			"the service manager passed %lu sockets; %d are the most that are taken", n,
			MOST_INHERITED);
	for (int i = 0; i < (int)n; i++) {
		int result = inherit_one(listeners, FIRST_INHERITED + i, err);
		code = code ? code : result;
	}
	if (code)
		listen_close(listeners);
	return code;
}

void listen_close(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->n; i++)
		close(listeners->at[i].fd);
	free(listeners->at);
	memset(listeners, 0, sizeof(*listeners));
}
