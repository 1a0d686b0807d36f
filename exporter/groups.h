/*
 * Groups of processes: those of one container or pod, or of none. Each has a number, by which the
 * kernel programs know it. A group lasts as long as some selected process is in it, and then for as
 * long as its owner keeps it.
 */
#ifndef EXPORTER_GROUPS_H
#define EXPORTER_GROUPS_H

#include <stdint.h>
#include <time.h>

#include "base/vec.h"
#include "kernel/attach.h"
#include "model/spec.h"
#include "target/podnames.h"
#include "target/procview.h"

struct group_labels {
	char *value[SPEC_PROCESS_LABELS]; /* never NULL once the group is there; owned by it */
};

struct groups;

struct groups *groups_new(struct attach *attach);
/* Does not touch the kernel, where all of it ends with the maps. */
void groups_free(struct groups *groups);

/* Whether anybody asks for groups; while nobody does, there are none. */
void groups_set_wanted(struct groups *groups, bool wanted);
bool groups_are_wanted(const struct groups *groups);

/*
 * The number of the group that a process is in. 0: it has ended, there are too many, or the name of
 * its pod is still to come: that is worth another look in a second (groups_are_unnamed).
 */
uint32_t groups_of(struct groups *groups, struct podnames *pods, struct procview *view);
bool groups_are_unnamed(const struct groups *groups);

/* A group's labels; NULL when there is no such group. */
const struct group_labels *groups_labels(const struct groups *groups, uint32_t group);

/* Let go of groups that `in_use` says no to. */
typedef bool groups_in_use(void *context, uint32_t group);
void groups_drop_unused(struct groups *groups, groups_in_use *in_use, void *context);

#endif
