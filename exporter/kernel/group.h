/* Groups: the probes of a plan that are linked together. */
#ifndef KERNEL_GROUP_H
#define KERNEL_GROUP_H

#include "model/plan.h"

/* An instruction to probe. */
struct site {
	uint64_t offset;    /* in the file */
	uint64_t cookie;    /* probe id */
	uint64_t semaphore; /* USDT: file offset of the counter to raise; 0: none */
	size_t owner;	    /* index into the plan */
};

/* Instructions to probe; the arrays go in step, as the kernel takes them. */
struct site_list {
	size_t n, room;
	uint64_t *offsets;
	uint64_t *cookies;
	uint64_t *semaphores;
	size_t *owners;
};

/* Same file, same processes, same exit strategy. */
struct group {
	const struct plan_file *file;
	pid_t pid;
	int filter; /* links per process: 1 + the filter that selects them; 0: one link for all */
	enum exit_strategy strategy;
	struct site_list entries; /* STRATEGY_USDT: all sites of all probes */
	struct site_list exits;	  /* STRATEGY_RETURN_SITES only */
};

struct group_list { /* grows with vec_push */
	struct group *at;
	size_t n, room;
};

/*
 * The group of a probe, made when it is the first of its kind, or is to be `alone`. `filter`: as in
 * struct attach_result; it matters to links per process.
 */
struct group *group_of(struct group_list *groups, const struct plan_probe *probe, int filter,
		       bool alone);
void group_list_fini(struct group_list *groups);

void site_list_fini(struct site_list *list);
void site_list_add(struct site_list *list, const struct site *site);
/* Keep the sites whose owner `keep` says yes to. */
void site_list_filter(struct site_list *list, bool (*keep)(const void *context, size_t owner),
		      const void *context);

#endif
