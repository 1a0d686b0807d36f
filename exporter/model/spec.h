/*
 * The spec: a config file after validation. Everything downstream reads it and nothing changes
 * it. Strings and arrays live in the spec's arena.
 */
#ifndef MODEL_SPEC_H
#define MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"

/* `exit:` — how the end of a call is seen. */
enum exit_mode { EXIT_AUTO, EXIT_URETPROBE, EXIT_RETURN_SITES, EXIT_NONE };

/* `host_cost:` — whether a target may cost every process of the machine. */
enum host_cost { HOST_COST_REFUSE, HOST_COST_ALLOW };

/* Upper bounds of the classic buckets, ascending, distinct, > 0, in nanoseconds; `+Inf` is implied.
 */
struct buckets {
	const uint64_t *bound_ns;
	size_t n;
};

/* Whether both have the same bounds. */
bool buckets_equal(const struct buckets *a, const struct buckets *b);

struct spec_label {
	const char *name, *value;
};

/* What a config's function names. */
enum function_by {
	BY_SYMBOL,  /* `symbol:` */
	BY_MATCH,   /* `match:`: a glob over names, one probe for each that matches */
	BY_OFFSET,  /* `offset:`: a place in the file */
	BY_ADDRESS, /* `address:`: a virtual address, as linked */
	BY_USDT,    /* `probe:`: every site of a USDT probe, whose hits are counted */
	BY_PAIR,    /* `start:`, `end:`: what lies between two USDT probes is timed */
};

/* A USDT probe's name; several sites of a file may have it. */
struct spec_usdt {
	const char *provider, *name;
};

/* Arguments of a USDT site are numbered from 1, as in `arg1`. */
#define SPEC_MOST_ARGUMENT 64

/* What tells which end belongs to which start: an argument of each, or 0: the thread. */
struct spec_key {
	uint32_t start_argument, end_argument;
};

/* A function, or what is measured by USDT sites. */
struct spec_function {
	enum function_by by;
	const char *symbol; /* as written: plain, mangled, name@VERSION, or the glob of `match:` */
	uint64_t position;  /* BY_OFFSET, BY_ADDRESS */
	uint32_t max;	    /* BY_MATCH: more matches than this are an error */
	struct spec_usdt
		start; /* BY_USDT: the probe; BY_PAIR: the one that a measurement begins at */
	struct spec_usdt end; /* BY_PAIR */
	struct spec_key key;  /* BY_PAIR */
	const char *label;    /* value of the label `function` or `probe`: `name:` where given, else
			       * what the config names; BY_MATCH: stands for the pattern while it has
			       * no matches */
	enum exit_mode exit;
	struct buckets buckets;
	const struct spec_label *labels; /* constant labels, in the order of their names */
	size_t n_labels;
	int line; /* where the config names it */
};

/* The uid of a user who is not known on this machine: no process has it. */
#define SPEC_NO_UID ((uid_t)-1)

/*
 * `process:` — who is measured: processes to which all that is set here applies. Patterns are those
 * of base/glob.h; text without wildcards means itself.
 */
struct spec_process {
	pid_t pid;	     /* as the exporter sees it; 0: any */
	const char *pidfile; /* absolute path of a file that holds the pid */
	const char *exe;     /* pattern over the executable's path */
	const char *comm;    /* pattern over the name, of which the kernel keeps 15 bytes */
	const char *cmdline; /* POSIX extended regular expression, one that compiles */
	const char *user;    /* as written: a name or a number */
	uid_t uid;	     /* with `user`: whose effective uid it is */
	const char
		*cgroup; /* pattern over the path of the cgroup or of one above it, no `/` last */
	/* Of a container: an id's first 12 to 64 digits, a name, or a pattern over either. */
	const char *container;
	const char *pod;       /* pattern over the pod's name or uid */
	const char *namespace; /* pattern over the pod's namespace */
	bool children;	       /* descendants of such processes too */
};

/* Whether it selects at all; else every process is meant. */
bool spec_process_is_set(const struct spec_process *process);

/* Whether both select the same. */
bool spec_same_process(const struct spec_process *a, const struct spec_process *b);

/* `labels_from:` — what of a process its series say, one bit each; in the order of their names. */
enum spec_process_label {
	SPEC_LABEL_CONTAINER,
	SPEC_LABEL_NAMESPACE,
	SPEC_LABEL_POD,
	SPEC_LABEL_POD_UID,
	SPEC_PROCESS_LABELS,
};

/* "container", "namespace", "pod", "pod_uid". */
const char *spec_process_label_name(enum spec_process_label label);

struct spec_target {
	const char *name;
	const char *binary; /* absolute path as written */
	pid_t pid; /* the only process that `process` can select; 0: it is not that narrow */
	struct spec_process process;
	unsigned labels_from; /* bits 1 << enum spec_process_label; with `process` only */
	enum host_cost host_cost;
	const struct spec_function *functions; /* USDT probes too: see spec_is_usdt() */
	size_t n_functions;
	int line;
};

struct spec_limits {
	uint32_t series;	/* slots for series */
	uint32_t in_flight;	/* open calls followed by return-sites probes */
	uint32_t shards;	/* at most this many copies of a series, spread over the CPUs */
	uint32_t host_programs; /* more distinct programs than this mapping a file is `host_cost` */
	uint32_t label_sets;	/* of one target by `labels_from`; what is beyond is `other` */
	uint64_t labels_keep_ns; /* how long they are shown when their last process has ended */
};

#define SPEC_DEFAULT_SERIES	    1024
#define SPEC_DEFAULT_IN_FLIGHT	    65536
#define SPEC_DEFAULT_SHARDS	    16
#define SPEC_DEFAULT_HOST_PROGRAMS  8
#define SPEC_DEFAULT_MATCH_MAX	    100
#define SPEC_DEFAULT_LABEL_SETS	    100
#define SPEC_DEFAULT_LABELS_KEEP_NS (300 * (uint64_t)1000000000)

struct spec {
	struct arena arena;
	const char *file; /* path of the config */
	struct spec_limits limits;
	const struct spec_target *targets;
	size_t n_targets;
};

/* Release a spec made by config_load; NULL is fine. */
void spec_free(struct spec *spec);

/*
 * Whether both measure the same in the same way, so that one may go on with the counts of the
 * other. Their labels and lines may differ.
 */
bool spec_same_function(const struct spec_function *a, const struct spec_function *b);
/* Whether both are about the same file and processes, under the same name. */
bool spec_same_target(const struct spec_target *a, const struct spec_target *b);

/* Whether its process filter is `pid`, and nothing else. */
bool spec_is_pid_only(const struct spec_target *target);

/* Whether it is measured by USDT sites; else a function. */
bool spec_is_usdt(const struct spec_function *function);

/* "auto", "uretprobe", "return-sites", "none". */
const char *exit_mode_name(enum exit_mode mode);

#endif
