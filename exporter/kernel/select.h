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

/*
 * A process is, or is not, one that the filter matches; by itself or as a descendant.
 * `start_ticks` is when it started, as /proc/PID/stat has it. 0 or -errno; -ENOSPC when
 * UP_SELECTED_ROOM processes are selected.
 */
int select_process(struct select *select, pid_t pid, uint64_t start_ticks, uint32_t filter,
		   bool inherited, bool on);

/* Tell each process that some filter selects; each may be told off meanwhile. */
typedef void select_entry_visit(void *context, pid_t pid, const struct up_selected *entry);
void select_each(const struct select *select, select_entry_visit *visit, void *context);

/* A process that select_each() told has ended, unnoticed by the kernel programs. */
void select_forget(struct select *select, pid_t pid);

/* How often something was not done for want of room. In any thread. */
uint64_t select_unheard(const struct select *select, enum up_unheard reason);

/* Tell which processes started a program since the last call and have to be decided on. */
typedef void select_visit(void *context, pid_t pid);
void select_each_started(struct select *select, select_visit *visit, void *context);

#endif
