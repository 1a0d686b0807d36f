/* Grouping probes for links. */
#include "kernel/group.h"

#include "base/alloc.h"
#include "base/vec.h"

struct group *group_of(struct group_list *groups, const struct plan_probe *probe, int filter,
		       bool alone)
{
	int own = probe->per_process ? filter : 0;

	/* From the last: probes come in the config's order, so it is nearly always that one. */
	for (size_t i = groups->n; !alone && i-- > 0;) {
		struct group *group = &groups->at[i];
		if (group->file == probe->file && group->pid == probe->target->pid &&
		    group->filter == own && group->strategy == probe->strategy)
			return group;
	}
	struct group *group = vec_push(groups);
	group->file = probe->file;
	group->pid = probe->target->pid;
	group->filter = own;
	group->strategy = probe->strategy;
	return group;
}

static void put(struct site_list *list, size_t at, const struct site *site)
{
	list->offsets[at] = site->offset;
	list->cookies[at] = site->cookie;
	list->semaphores[at] = site->semaphore;
	list->owners[at] = site->owner;
}

void site_list_add(struct site_list *list, const struct site *site)
{
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		list->offsets = alloc_resize(list->offsets, list->room, sizeof(*list->offsets));
		list->cookies = alloc_resize(list->cookies, list->room, sizeof(*list->cookies));
		list->semaphores =
			alloc_resize(list->semaphores, list->room, sizeof(*list->semaphores));
		list->owners = alloc_resize(list->owners, list->room, sizeof(*list->owners));
	}
	put(list, list->n++, site);
}

void site_list_filter(struct site_list *list, bool (*keep)(const void *context, size_t owner),
		      const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct site site = {list->offsets[i], list->cookies[i], list->semaphores[i],
				    list->owners[i]};
		if (keep(context, site.owner))
			put(list, kept++, &site);
	}
	list->n = kept;
}

void site_list_fini(struct site_list *list)
{
	free(list->offsets);
	free(list->cookies);
	free(list->semaphores);
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
