/*
 * Listen addresses as the Prometheus exporters write them become listening TCP sockets. All or
 * none: one address that cannot be had closes those opened before it.
 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include <stddef.h>

#include "base/err.h"

struct listen_spec {
	char host[256]; /* "" for every address of the machine; IPv6 without its brackets */
	char port[6];	/* "0" to "65535" */
	int ipv6;	/* the host was written in brackets */
};

struct listener {
	int fd;		  /* non-blocking, close-on-exec */
	char address[96]; /* as really bound: "127.0.0.1:41234", "[::]:10435" */
};

struct listeners {
	struct listener *at; /* owned */
	size_t n;
};

/*
 * Split ":10435", "127.0.0.1:0", "[::1]:9000" or "localhost:9000". 0, or -EINVAL and `err` that
 * names the text, what is wrong with it and the accepted forms.
 */
int listen_parse(const char *text, struct listen_spec *spec, struct err *err);

/*
 * Listen on each of the addresses. ":PORT" is [::] for IPv6 and IPv4 alike, or 0.0.0.0 where IPv6
 * is not to be had. A name listens on every address it resolves to that this machine has (with
 * port 0: on the first only, so that one port is chosen). SO_REUSEADDR lets a restart pass sockets
 * in TIME_WAIT; SO_REUSEPORT is not set, so a second instance is refused with -EADDRINUSE.
 * 0, or -errno and `err`; `listeners` is then empty.
 */
int listen_open(const char *const *addresses, size_t n, struct listeners *listeners,
		struct err *err);

/*
 * Take the sockets that the service manager listens on for us, by the protocol of
 * sd_listen_fds(3): $LISTEN_FDS of them from descriptor 3 on, for the process $LISTEN_PID. Each
 * must be a listening TCP socket. 0, or -errno and `err`; all that were passed are closed then.
 */
int listen_inherit(struct listeners *listeners, struct err *err);

void listen_close(struct listeners *listeners);

#endif
