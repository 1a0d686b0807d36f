/*
 * Privileges and limits: what this process may do, and which knob to turn when the kernel says
 * no. A bare EPERM helps nobody.
 */
#ifndef KERNEL_PRIVS_H
#define KERNEL_PRIVS_H

#include <linux/capability.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "kernel/tier.h"

/* Headers older than Linux 5.8 do not have these two. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* Whether it is effective; a number of linux/capability.h. */
bool privs_has(int capability);

/* Raise the soft limit of open files to the hard one. Failing is fine; the limit now in force. */
unsigned long privs_raise_nofile(void);

/* Whether somebody else's seccomp filter is on this process, and whether it lives in a user
 * namespace whose capabilities are not the host's. */
bool privs_under_seccomp(void);
/* The process is about to filter its own calls, which is no obstacle to it: call it before, while
 * there is one thread only. */
void privs_expect_own_filter(void);
bool privs_in_user_namespace(void);

/* Value of a small integer file such as a sysctl; `fallback` when it cannot be read. */
long privs_read_number(const char *path, long fallback);

/*
 * Why `error` (-errno) came back from loading or attaching in `tier`, and what to do, as words
 * to put after a colon.
 */
void privs_explain(enum tier tier, int error, struct strbuf *out);

/* Whether the pids that this process sees are the kernel's own. */
bool privs_in_initial_pid_namespace(void);

#endif
