/*
 * Process filters on the kernel's side: the rules by which its programs decide when a program is
 * started, and the processes that the exporter itself has decided on.
 */
#ifndef KERNEL_SELECT_H
#define KERNEL_SELECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/contract.h"
#include "kernel/object.h"

struct ring_buffer;

struct select {
	const struct object *object; /* borrowed */
	struct ring_buffer *started;
};

int select_init(struct select *select, const struct object *object, struct err *err);
void select_fini(struct select *select);

/* What children have of what selected their parent. */
struct select_inheritance {
	bool as_itself;	    /* the filter matches a child as it does the parent */
	bool as_descendant; /* it matches descendants */
};

/*
 * Set filter number `filter`, below UP_FILTERS, of the first `n` that are in use. What it selected
 * before stays selected until select_clear(). 0 or -errno.
 */
int select_set_rule(struct select *select, uint32_t filter, uint32_t n, const struct up_rule *rule,
		    struct select_inheritance inheritance);
void select_clear(struct select *select, uint32_t filter);

struct select_decision {
	pid_t pid;
	uint64_t start_ticks; /* when it started, as /proc/PID/stat has it */
	uint32_t filter;      /* UP_FILTERS: this is about its group only */
	bool inherited;	      /* it matches as a descendant, not by itself */
	bool on;
	uint32_t group; /* that it is in; 0: as it was */
};

/*
 * A process is, or is not, one that the filter matches. 0 or -errno; -ENOSPC when UP_SELECTED_ROOM
 * processes are selected.
 */
int select_process(struct select *select, const struct select_decision *decision);

/* The number of our mount namespace; 0: it cannot be had. */
uint32_t select_home_ns(void);

/* What the kernel programs know of a process (nothing: zeros); whether some filter selects it. */
bool select_find(const struct select *select, pid_t pid, struct up_selected *entry);

/* How often something was not done for want of room. In any thread. */
uint64_t select_unheard(const struct select *select, enum up_unheard reason);

/*
 * Whether anybody needs to know each process's group, and whether the cgroup (v2) tells it. 0 or
 * -errno.
 */
int select_set_grouped(struct select *select, bool grouped, bool by_cgroup);
/* Processes in this cgroup (v2) are in the group; 0: nobody knows any more. 0 or -errno. */
int select_set_cgroup(struct select *select, uint64_t cgroup, uint32_t group);

/* Tell each process that some filter selects; each may be told off meanwhile. */
typedef void select_entry_visit(void *context, pid_t pid, const struct up_selected *entry);
void select_each(const struct select *select, select_entry_visit *visit, void *context);

/* A process that select_each() told has ended, unnoticed by the kernel programs. */
void select_forget(struct select *select, pid_t pid);

/* What was told of groups holds no more: it is told again when the next process starts. */
void select_forget_told(struct select *select);

/* Readable when something was told that should not wait. */
int select_started_fd(const struct select *select);

/* Tell which processes started a program since the last call and have to be decided on. */
typedef void select_visit(void *context, const struct up_started *started);
void select_each_started(struct select *select, select_visit *visit, void *context);

#endif
