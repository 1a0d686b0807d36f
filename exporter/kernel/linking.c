/*
 * The kernel answers with one error for all sites of a link. So when it refuses, the sites at
 * fault are found by bisecting, dropped, and the rest is linked anew. In the perf tier each site
 * has links of its own and an answer of its own.
 */
#include "kernel/linking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/refuse.h"

static enum tier tier_of(const struct linking *linking)
{
	return linking->loaded->object.form->tier;
}

static bool is_pending(const void *context, size_t owner)
{
	const struct attach_result *results = context;

	return results[owner].reason == REASON_NONE;
}

/* Forget all sites of probes that were refused. */
static void drop_refused(const struct linking *linking)
{
	site_list_filter(&linking->group->entries, is_pending, linking->results);
	site_list_filter(&linking->group->exits, is_pending, linking->results);
}

static struct link_sites sites_of(const struct linking *linking, const struct site_list *list,
				  const char *path)
{
	/* Links per process are tried on ourselves. */
	pid_t pid = linking->group->filter ? getpid() : linking->group->pid;

	return (struct link_sites){
		.path = path,
		.offsets = list->offsets,
		.cookies = list->cookies,
		.semaphores = linking->group->strategy == STRATEGY_USDT ? list->semaphores : NULL,
		.n = list->n,
		.pid = linking->loaded->feature.pid_filter ? pid : 0,
	};
}

/* ---- session and multi: one link for all ---- */

/* Refuse the probes whose sites are; whether there are any. */
static bool refuse_sites(const struct linking *linking, const struct site_list *list,
			 const struct link_sites *sites, enum link_kind kind, bool together)
{
	_cleanup_free_ int *errors = alloc_zero(list->n, sizeof(*errors));
	unsigned tries =
		linkset_find_refused(&linking->loaded->object, sites, kind, together, errors);
	bool found = false;

	log_debug("the kernel refuses some sites", LOG_STR("file", linking->group->file->path),
		  LOG_INT("tries", tries));
	for (size_t i = 0; i < list->n; i++) {
		if (!errors[i])
			continue;
		refuse_for_error(&linking->results[list->owners[i]], tier_of(linking), errors[i]);
		found = true;
	}
	return found;
}

/* 0; -EAGAIN when sites were refused, so that the group has to be linked anew; or the error. */
static int link_all(const struct linking *linking, const struct site_list *list, const char *path,
		    enum link_kind kind, struct linkset *links)
{
	const struct object *object = &linking->loaded->object;
	struct link_sites sites = sites_of(linking, list, path);
	int result = linkset_open(links, object, &sites, kind);

	if (!linkset_error_is_of_site(result))
		return result;
	bool found = refuse_sites(linking, list, &sites, kind, false) ||
		     refuse_sites(linking, list, &sites, kind, true);
	drop_refused(linking);
	return found ? -EAGAIN : result;
}

/* ---- perf: links for each ---- */

/* Whether there is room for one more function; entries are what is counted. */
static bool take_perf_room(const struct linking *linking, enum link_kind kind,
			   struct attach_result *result)
{
	if (kind == LINK_EXIT)
		return true;
	if (*linking->perf_room) {
		(*linking->perf_room)--;
		return true;
	}
	refuse(result, REASON_LIMIT,
	       "the perf tier takes %d functions: each takes about a quarter of a second to "
	       "detach, "
	       "also when the exporter is killed; --kernel.perf-force lifts the limit",
	       ATTACH_PERF_LIMIT);
	return false;
}

static void link_one(const struct linking *linking, const struct link_sites *all, size_t at,
		     enum link_kind kind, struct attach_result *result, struct linkset *links)
{
	struct link_sites site = *all;

	site.offsets += at;
	site.cookies += at;
	site.semaphores += site.semaphores ? at : 0;
	site.n = 1;
	if (!take_perf_room(linking, kind, result))
		return;
	int error = linkset_add(links, &linking->loaded->object, &site, kind);
	if (!error)
		return;
	if (kind != LINK_EXIT)
		(*linking->perf_room)++;
	refuse_for_error(result, tier_of(linking), error);
}

static int link_each(const struct linking *linking, const struct site_list *list, const char *path,
		     enum link_kind kind, struct linkset *links)
{
	struct link_sites sites = sites_of(linking, list, path);

	for (size_t i = 0; i < list->n; i++) {
		struct attach_result *result = &linking->results[list->owners[i]];
		if (*linking->stop)
			return -ECANCELED;
		if (result->reason == REASON_NONE)
			link_one(linking, &sites, i, kind, result, links);
	}
	drop_refused(linking);
	return 0;
}

/* ---- a group ---- */

static int link_list(const struct linking *linking, const struct site_list *list, const char *path,
		     enum link_kind kind, struct linkset *links)
{
	*links = (struct linkset){0};
	if (!list->n)
		return 0;
	int result = (tier_of(linking) == TIER_PERF ? link_each : link_all)(linking, list, path,
									    kind, links);
	if (result)
		linkset_close(links);
	return result;
}

enum link_kind linking_kind(enum exit_strategy strategy)
{
	static const enum link_kind kinds[] = {
		[STRATEGY_NONE] = LINK_ENTRY,
		[STRATEGY_URETPROBE] = LINK_CALL,
		[STRATEGY_RETURN_SITES] = LINK_ENTRY,
		[STRATEGY_USDT] = LINK_MARK,
	};

	return kinds[strategy];
}

/* Exits first: a call that is counted at its entry must find its exits probed. */
static int link_once(const struct linking *linking, const char *path, struct linked *linked)
{
	const struct group *group = linking->group;
	enum link_kind kind = linking_kind(group->strategy);
	int result = link_list(linking, &group->exits, path, LINK_EXIT, &linked->exits);

	if (result)
		return result;
	result = link_list(linking, &group->entries, path, kind, &linked->entries);
	if (result)
		linkset_close(&linked->exits);
	return result;
}

/* Each round either links all that is left or finds more that is refused. */
enum { ROUNDS = 4 };

static int link_rounds(const struct linking *linking, const char *path, struct linked *linked)
{
	int result = -EAGAIN;

	for (int round = 0; round < ROUNDS && result == -EAGAIN; round++)
		result = *linking->stop ? -ECANCELED : link_once(linking, path, linked);
	return result == -EAGAIN ? -EIO
				 : result; /* it goes on refusing: something is wrong there */
}

/*
 * The kernel looks at an instruction when a process that maps the file has to get the
 * breakpoint; without one, a probe that can never fire would attach. So map it ourselves for as
 * long as the link is made. NULL when that is not possible (a noexec mount): the probe is
 * attached all the same.
 */
static void *map_for_inspection(const struct plan_file *file, size_t *size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = file->exec_offset / page * page;

	*size = file->exec_offset + file->exec_size - from;
	void *text = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file->fd, (off_t)from);
	return text == MAP_FAILED ? NULL : text;
}

void linking_open(const struct linking *linking, struct linked *linked)
{
	const struct group *group = linking->group;
	char path[64];
	size_t text_size = 0;
	void *text = group->pid ? NULL : map_for_inspection(group->file, &text_size);

	*linked = (struct linked){0};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", group->file->fd);
	int result = link_rounds(linking, path, linked);
	if (text)
		munmap(text, text_size);
	if (!result)
		return;
	for (size_t i = 0; i < group->entries.n; i++)
		refuse_for_error(&linking->results[group->entries.owners[i]], tier_of(linking),
				 result);
	drop_refused(linking);
}
