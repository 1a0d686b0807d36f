/*
 * The process filters in force. Each has a number, by which probe records name it; filters that say
 * the same share one. The kernel programs follow forks, starts and ends; what they cannot decide
 * is decided here, when they tell of a start, and in passes over all processes now and then.
 */
#ifndef EXPORTER_FILTERS_H
#define EXPORTER_FILTERS_H

#include "base/err.h"
#include "groups.h"
#include "kernel/attach.h"
#include "model/spec.h"
#include "target/procview.h"

struct filters;

/* Called from most of the functions below, more than once for a process. */
struct filters_callbacks {
	void *context;
	/* A process is about to be selected: tell its group, or 0. */
	uint32_t (*selected)(void *context, uint32_t filter, struct procview *view);
	/* The kernel has selected one of this group, which may have ended since. */
	void (*grouped)(void *context, uint32_t filter, uint32_t group);
	/* A selected process has another mount namespace than the exporter. */
	void (*elsewhere)(void *context, uint32_t filter, struct procview *view);
	/*
	 * A look at all processes begins, or is over: what is there in one mount namespace is there
	 * for all processes in it. A program that starts meanwhile is told of later by itself.
	 */
	void (*passing)(void *context, bool begins);
};

/* `groups` is borrowed. */
struct filters *filters_new(struct attach *attach, struct groups *groups,
			    const struct filters_callbacks *callbacks);
void filters_free(struct filters *filters);

/*
 * Put the filters of all targets in force; those of an earlier spec that are not among them end.
 * The spec is borrowed until the next call. The processes that run now are looked at before it
 * returns.
 */
void filters_set(struct filters *filters, const struct spec *spec);

/*
 * For struct attach_result: 1 + the number of a target's filter; 0: it has none; or -1 with `err`
 * when it cannot be had.
 */
int filters_of(const struct filters *filters, const struct spec_target *target, struct err *err);

/* The group of a process; 0: nobody asks for it, or it is not known. */
uint32_t filters_group(struct filters *filters, struct procview *view);

/* Look at all processes now. */
void filters_look(struct filters *filters);

/* Decide on what has happened since; now and then. */
void filters_tick(struct filters *filters);
/* The same, without looking at what can wait: when filters_fd() is readable. */
void filters_heard(struct filters *filters);
int filters_fd(const struct filters *filters);

#endif
