/* From what a process' cgroup tells to a number, and the cgroups by which the kernel finds it. */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cgroups.h"
#include "kernel/select.h"

/* How long the kubelet may take to make a pod's folder of logs. */
enum { NAME_SECONDS = 5 };

/* Of one group that the kernel knows: those in no container are in as many as there are services.
 */
enum { MOST_CGROUPS = 64 };

struct group {
	uint32_t number; /* 0: it waits for the name of its pod */
	time_t since;	 /* it was seen first */
	struct group_labels labels;
	VEC(uint64_t) cgroups; /* that the kernel was told of */
};

struct groups {
	struct select *select;
	bool wanted;
	bool by_cgroup; /* the kernel can tell groups by the cgroup */
	VEC(struct group) list;
	uint32_t last; /* number that was given */
};

struct groups *groups_new(struct attach *attach)
{
	struct groups *groups = alloc_zero(1, sizeof(*groups));

	groups->select = attach_select(attach);
	return groups;
}

static void fini_group(struct group *group)
{
	vec_fini(&group->cgroups);
	for (size_t i = 0; i < SPEC_PROCESS_LABELS; i++)
		free(group->labels.value[i]);
}

static void end_group(struct groups *groups, size_t at)
{
	struct group *group = &groups->list.at[at];

	for (size_t i = 0; i < group->cgroups.n; i++)
		select_set_cgroup(groups->select, group->cgroups.at[i], 0);
	fini_group(group);
	groups->list.at[at] = groups->list.at[--groups->list.n];
}

void groups_free(struct groups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < groups->list.n; i++)
		fini_group(&groups->list.at[i]);
	vec_fini(&groups->list);
	free(groups);
}

void groups_set_wanted(struct groups *groups, bool wanted)
{
	groups->by_cgroup = wanted && cgroups_id("/");
	if (groups->wanted != wanted)
		select_set_grouped(groups->select, wanted, groups->by_cgroup);
	groups->wanted = wanted;
}

bool groups_are_wanted(const struct groups *groups)
{
	return groups->wanted;
}

/* ---- finding ---- */

static struct group *find(struct groups *groups, const struct cgroup_ids *ids)
{
	for (size_t i = 0; i < groups->list.n; i++) {
		struct group *group = &groups->list.at[i];
		if (!strcmp(group->labels.value[SPEC_LABEL_CONTAINER], ids->container) &&
		    !strcmp(group->labels.value[SPEC_LABEL_POD_UID], ids->pod_uid))
			return group;
	}
	return NULL;
}

static struct group *by_number(const struct groups *groups, uint32_t number)
{
	for (size_t i = 0; number && i < groups->list.n; i++)
		if (groups->list.at[i].number == number)
			return &groups->list.at[i];
	return NULL;
}

static struct group *add_group(struct groups *groups, const struct cgroup_ids *ids)
{
	struct group *group = vec_push(&groups->list);

	*group = (struct group){.since = clock_now_s()};
	group->labels.value[SPEC_LABEL_CONTAINER] = alloc_strdup(ids->container);
	group->labels.value[SPEC_LABEL_POD_UID] = alloc_strdup(ids->pod_uid);
	group->labels.value[SPEC_LABEL_POD] = alloc_strdup("");
	group->labels.value[SPEC_LABEL_NAMESPACE] = alloc_strdup("");
	return group;
}

static void set_text(char **text, const char *to)
{
	free(*text);
	*text = alloc_strdup(to);
}

/* Whether it has its name; a pod without one is named by its uid when it has waited long enough. */
static bool name_pod(struct group *group, struct podnames *pods, bool first)
{
	const char *uid = group->labels.value[SPEC_LABEL_POD_UID];
	const struct podname *name = NULL;

	if (*uid)
		name = first ? podnames_find_new(pods, uid) : podnames_find(pods, uid);
	if (name) {
		set_text(&group->labels.value[SPEC_LABEL_POD], name->name);
		set_text(&group->labels.value[SPEC_LABEL_NAMESPACE], name->namespace);
	} else if (*uid) {
		set_text(&group->labels.value[SPEC_LABEL_POD], uid);
	}
	return name || !*uid || !podnames_has_any(pods) ||
	       clock_now_s() - group->since >= NAME_SECONDS;
}

/* The next number in turn that no group has. */
static uint32_t new_number(struct groups *groups)
{
	if (groups->list.n >= UP_GROUPS)
		return 0;
	do
		groups->last = groups->last % (UP_GROUPS - 1) + 1;
	while (by_number(groups, groups->last));
	return groups->last;
}

/* Programs that are started in its cgroup are in the group from their first instruction on. */
static void note_cgroup(struct groups *groups, struct group *group, struct procview *view)
{
	const char *path = procview_cgroup(view);
	uint64_t cgroup = path ? cgroups_id(path) : 0;

	if (!cgroup)
		return;
	for (size_t i = 0; i < group->cgroups.n; i++)
		if (group->cgroups.at[i] == cgroup)
			return;
	if (group->cgroups.n == MOST_CGROUPS) { /* the oldest: where it lives on, it is asked for */
		select_set_cgroup(groups->select, group->cgroups.at[0], 0);
		memmove(&group->cgroups.at[0], &group->cgroups.at[1],
			--group->cgroups.n * sizeof(group->cgroups.at[0]));
	}
	if (!select_set_cgroup(groups->select, cgroup, group->number))
		*vec_push(&group->cgroups) = cgroup;
}

uint32_t groups_of(struct groups *groups, struct podnames *pods, struct procview *view)
{
	const struct cgroup_ids *ids = procview_ids(view);

	if (!groups->wanted || !ids)
		return 0;
	struct group *group = find(groups, ids);
	bool first = !group;
	if (first)
		group = add_group(groups, ids);
	if (!group->number && name_pod(group, pods, first))
		group->number = new_number(groups);
	if (group->number && groups->by_cgroup)
		note_cgroup(groups, group, view);
	return group->number;
}

bool groups_are_unnamed(const struct groups *groups)
{
	for (size_t i = 0; i < groups->list.n; i++)
		if (!groups->list.at[i].number)
			return true;
	return false;
}

const struct group_labels *groups_labels(const struct groups *groups, uint32_t group)
{
	const struct group *found = by_number(groups, group);

	return found ? &found->labels : NULL;
}

void groups_drop_unused(struct groups *groups, groups_in_use *in_use, void *context)
{
	time_t now = clock_now_s();

	for (size_t i = groups->list.n; i-- > 0;) {
		const struct group *group = &groups->list.at[i];
		bool young = now - group->since <= NAME_SECONDS;
		if (!young && !(group->number && in_use(context, group->number)))
			end_group(groups, i);
	}
}
