/*
 * The filters as their keepers see them: filters.c (the set in force, and what is told of single
 * processes) and filters_pass.c (looks at all of them).
 */
#ifndef EXPORTER_FILTERS_INSIDE_H
#define EXPORTER_FILTERS_INSIDE_H

#include <time.h>

#include "base/vec.h"
#include "filters.h"
#include "kernel/select.h"
#include "passes.h"
#include "rule.h"
#include "target/procpass.h"

/* A mount namespace that had the program of `exe`, and as which file. */
struct filter_place {
	ino_t mount_ns; /* 0: none */
	dev_t dev;
	ino_t ino;
};

struct filter {
	const struct spec_process *spec; /* NULL: the number is free */
	struct procmatch *match;
	struct up_rule rule;
	struct up_rule found; /* its inodes are those that the pass under way has come upon */
	struct rule_file exe; /* at its path */
	struct filter_place places[UP_RULE_INODES]; /* besides ours; the newest first */
	bool skipped;				    /* the pass under way is not for it */
	pid_t named; /* what `pidfile` said when it was last looked at */
};

/* A device as the processes of a mount namespace see it, and as the kernel has it. */
struct filter_device {
	ino_t mount_ns;
	dev_t seen, dev;
};

enum { FILTER_DEVICES = 32 };

/* One of a pass' findings. */
struct found {
	pid_t pid;
	uint32_t filter;
};

struct filters {
	struct select *select;
	struct filters_callbacks callbacks;
	struct groups *groups; /* borrowed */
	ino_t home_ns;
	struct podnames *pods;
	int proc_fd;
	bool sees_all; /* the pids here are the kernel's own */
	struct filter filter[UP_FILTERS];
	uint32_t n; /* numbers in use are below it */
	struct procpass *pass;
	struct procmatch *matches[UP_FILTERS]; /* of the pass, in the order of `numbers` */
	uint32_t numbers[UP_FILTERS];
	size_t n_matches;
	VEC(struct found) found;
	struct filter_device devices[FILTER_DEVICES]; /* that were asked for last */
	size_t n_devices;			      /* so many were, in this turn of the loop */
	struct passes passes;
	time_t followed;     /* when links were last followed closely */
	enum pass passing;   /* the kind of pass that is under way */
	uint64_t unheard;    /* starts, at the last pass */
	bool is_full;	     /* there was no room for a process; said once */
	uint64_t unselected; /* how often the kernel found none, when it was last asked */
	bool again;	     /* a look at everything could not be made */
};

/* Have the kernel programs know a filter's rule as it is now. */
void filters_put_rule(struct filters *filters, uint32_t number);

/* A filter selects the process, or does no more: the rest has to know. */
void filters_decide(struct filters *filters, uint32_t number, struct procview *view, bool inherited,
		    bool on);

/*
 * A process was selected that was not before. It may have started another program between the look
 * at it and the decision, which then came after what the kernel programs had decided on that one.
 */
void filters_check_decision(struct filters *filters, uint32_t number, pid_t pid);

/*
 * Decide on one process. `told`: what the kernel told of its start; NULL: nothing. Most programs
 * that are started are nobody's business: these cost no more than they have to.
 */
void filters_look_at(struct filters *filters, pid_t pid, const struct up_started *told);

/* Have the files of a process found that is selected already, in its container. */
void filters_look_for_files(struct filters *filters, struct procview *view,
			    const struct up_selected *entry);

/* A process that runs the program of `exe` was found in another mount namespace than ours. */
void filters_note_place(struct filter *filter, ino_t mount_ns, dev_t dev, ino_t ino);

/*
 * The device as the kernel has it (target/mounts.h) of `fd`, which the process finds in its root,
 * or with -1 of its executable, where stat(2) tells `seen`. False when it cannot be told.
 */
bool filters_device(struct filters *filters, struct procview *view, int fd, dev_t seen,
		    dev_t *device);

/*
 * Programs that the pass under way has met no process of are looked for where they were. 0, or
 * -errno: it cannot be told.
 */
int filters_look_into_places(struct filters *filters);

void filters_pass(struct filters *filters, enum pass kind);

#endif
