/* Grouping probes for links. */
#include "kernel/group.h"

#include "base/alloc.h"
#include "base/vec.h"

static struct group *find(struct group_list *groups, const struct plan_probe *probe)
{
	bool with_return = probe->strategy != STRATEGY_NONE;

	/* From the last: probes come in the config's order, so it is nearly always that one. */
	for (size_t i = groups->n; i-- > 0;) {
		struct group *group = &groups->at[i];
		if (group->file == probe->file && group->pid == probe->target->pid &&
		    group->with_return == with_return)
			return group;
	}
	struct group *group = vec_push(groups);
	group->file = probe->file;
	group->pid = probe->target->pid;
	group->with_return = with_return;
	return group;
}

void group_add(struct group_list *groups, const struct plan_probe *probe, size_t index, int series)
{
	struct group *group = find(groups, probe);

	if (group->n == group->room) {
		group->room = group->room ? 2 * group->room : 16;
		group->probes = alloc_resize(group->probes, group->room, sizeof(*group->probes));
		group->offsets = alloc_resize(group->offsets, group->room, sizeof(*group->offsets));
		group->cookies = alloc_resize(group->cookies, group->room, sizeof(*group->cookies));
	}
	group->probes[group->n] = index;
	group->offsets[group->n] = probe->entry_offset;
	group->cookies[group->n] = (uint64_t)series;
	group->n++;
}

void group_list_fini(struct group_list *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		free(groups->at[i].probes);
		free(groups->at[i].offsets);
		free(groups->at[i].cookies);
	}
	vec_fini(groups);
}
