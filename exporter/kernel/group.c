/* Grouping probes for links. */
#include "kernel/group.h"

#include "base/alloc.h"
#include "base/vec.h"

struct group *group_of(struct group_list *groups, const struct plan_probe *probe)
{
	/* From the last: probes come in the config's order, so it is nearly always that one. */
	for (size_t i = groups->n; i-- > 0;) {
		struct group *group = &groups->at[i];
		if (group->file == probe->file && group->pid == probe->target->pid &&
		    group->strategy == probe->strategy)
			return group;
	}
	struct group *group = vec_push(groups);
	group->file = probe->file;
	group->pid = probe->target->pid;
	group->strategy = probe->strategy;
	return group;
}

void site_list_add(struct site_list *list, uint64_t offset, uint64_t cookie, size_t owner)
{
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		list->offsets = alloc_resize(list->offsets, list->room, sizeof(*list->offsets));
		list->cookies = alloc_resize(list->cookies, list->room, sizeof(*list->cookies));
		list->owners = alloc_resize(list->owners, list->room, sizeof(*list->owners));
	}
	list->offsets[list->n] = offset;
	list->cookies[list->n] = cookie;
	list->owners[list->n] = owner;
	list->n++;
}

void site_list_filter(struct site_list *list, bool (*keep)(const void *context, size_t owner),
		      const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!keep(context, list->owners[i]))
			continue;
		list->offsets[kept] = list->offsets[i];
		list->cookies[kept] = list->cookies[i];
		list->owners[kept] = list->owners[i];
		kept++;
	}
	list->n = kept;
}

static void site_list_fini(struct site_list *list)
{
	free(list->offsets);
	free(list->cookies);
	free(list->owners);
}

void group_list_fini(struct group_list *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		site_list_fini(&groups->at[i].entries);
		site_list_fini(&groups->at[i].exits);
	}
	vec_fini(groups);
}
