/* Groups: the probes of a plan that are linked together. */
#ifndef KERNEL_GROUP_H
#define KERNEL_GROUP_H

#include "model/plan.h"

/* Instructions to probe; the arrays go in step. */
struct site_list {
	size_t n, room;
	uint64_t *offsets; /* in the file */
	uint64_t *cookies; /* probe ids */
	size_t *owners;	   /* index into the plan */
};

/* Same file, same process, same exit strategy. */
struct group {
	const struct plan_file *file;
	pid_t pid;
	enum exit_strategy strategy;
	struct site_list entries;
	struct site_list exits; /* STRATEGY_RETURN_SITES only */
};

struct group_list { /* grows with vec_push */
	struct group *at;
	size_t n, room;
};

/* The group of a probe, made when it is the first of its kind. */
struct group *group_of(struct group_list *groups, const struct plan_probe *probe);
void group_list_fini(struct group_list *groups);

void site_list_add(struct site_list *list, uint64_t offset, uint64_t cookie, size_t owner);
/* Keep the sites whose owner `keep` says yes to. */
void site_list_filter(struct site_list *list, bool (*keep)(const void *context, size_t owner),
		      const void *context);

#endif
