/*
 * Least privilege for the running daemon. What starting takes (ports, memory locks, raising limits)
 * is given up once it has started: capabilities that running does not use, and system calls that
 * it does not make. The programs that it reads are not trusted; a fault in reading them shall not
 * be the whole machine's.
 */
#ifndef EXPORTER_CONFINE_H
#define EXPORTER_CONFINE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "kernel/tier.h"

enum confine_level { CONFINE_ALL, CONFINE_CAPABILITIES, CONFINE_NONE };

/* What is in force. */
struct confinement {
	bool capabilities; /* dropped, and no_new_privs set */
	bool syscalls;	   /* filtered */
};

/* `all`, `capabilities` or `none`: 0, or -EINVAL. */
int confine_parse(const char *name, enum confine_level *level);

/*
 * Confine this process for good. Capabilities are those of a thread, so call it while there is one
 * only; threads inherit everything. What cannot be had is a warning in the log and false in the
 * result: measuring goes on. `local_sockets`: whether it may make some.
 */
struct confinement confine(enum confine_level level, enum tier tier, bool local_sockets);

/* What confine(CONFINE_ALL) would come to, tried in a process of its own: 0 or -errno. */
struct confine_trial {
	int capabilities, syscalls;
	bool filters; /* false: a build that never does (sanitizers) */
};
struct confine_trial confine_try(enum tier tier);

/* The names of the capabilities that confine() leaves to this process, separated by spaces. */
void confine_put_kept(struct strbuf *out, enum tier tier);

/* Set the filter of confine_calls.c on all threads: 0 or -errno. */
int confine_calls(bool local_sockets);

#endif
