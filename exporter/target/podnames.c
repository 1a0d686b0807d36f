/* The kubelet's folder of logs as a table, sorted by uid. */
#include "target/podnames.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/vec.h"

#define MAX_UNNAMED 256
#define COME_NS	    10000000000U /* how long the kubelet may take to make a folder */
#define MAX_ENTRIES 4096 /* the kubelet runs some hundreds; logs of ended ones stay for a while */

struct pod {
	const char *uid;
	struct podname name;
};

struct unnamed {
	char *uid; /* owned */
	uint64_t since_ns;
};

struct podnames {
	char *folder;
	uint64_t reread_ns, read_ns; /* read_ns: when it was read last; 0: never */
	struct arena arena;	     /* of the table */
	VEC(struct pod) list;
	VEC(struct unnamed) unnamed; /* that were asked for, and had no folder */
};

struct podnames *podnames_new(const char *folder, uint64_t reread_ns)
{
	struct podnames *pods = alloc_zero(1, sizeof(*pods));

	pods->folder = alloc_strdup(folder);
	pods->reread_ns = reread_ns;
	arena_init(&pods->arena);
	return pods;
}

static void forget_unnamed(struct podnames *pods)
{
	while (pods->unnamed.n)
		free(pods->unnamed.at[--pods->unnamed.n].uid);
}

void podnames_free(struct podnames *pods)
{
	if (!pods)
		return;
	forget_unnamed(pods);
	vec_fini(&pods->unnamed);
	arena_fini(&pods->arena);
	vec_fini(&pods->list);
	free(pods->folder);
	free(pods);
}

static int by_uid(const void *left, const void *right)
{
	const struct pod *a = left, *b = right;
	return strcmp(a->uid, b->uid);
}

/* None of the three may hold a `_` (they are DNS names). */
static void add(struct podnames *pods, const char *entry)
{
	char *namespace = arena_strdup(&pods->arena, entry);
	char *name = strchr(namespace, '_'), *uid = name ? strchr(name + 1, '_') : NULL;

	if (!uid || strchr(uid + 1, '_'))
		return;
	*name++ = '\0';
	*uid++ = '\0';
	if (*namespace && *name && *uid)
		*vec_push(&pods->list) = (struct pod){uid, {namespace, name}};
}

static void read_folder(struct podnames *pods)
{
	DIR *dir = opendir(pods->folder);

	arena_fini(&pods->arena);
	arena_init(&pods->arena);
	pods->list.n = 0;
	for (int n = 0; dir && n < MAX_ENTRIES; n++) {
		struct dirent *entry = readdir(dir);
		if (!entry)
			break;
		add(pods, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (pods->list.n)
		qsort(pods->list.at, pods->list.n, sizeof(*pods->list.at), by_uid);
}

static const struct podname *search(const struct podnames *pods, const char *uid)
{
	struct pod key = {.uid = uid}, *found = NULL;

	if (pods->list.n)
		found = bsearch(&key, pods->list.at, pods->list.n, sizeof(key), by_uid);
	return found ? &found->name : NULL;
}

const struct podname *podnames_find_new(struct podnames *pods, const char *uid)
{
	pods->read_ns = clock_now_ns();
	read_folder(pods);
	return search(pods, uid);
}

static bool is_unnamed(const struct podnames *pods, const char *uid)
{
	for (size_t i = 0; i < pods->unnamed.n; i++)
		if (!strcmp(pods->unnamed.at[i].uid, uid))
			return true;
	return false;
}

/* The folder is read at once for a pod that was never asked for: it has just begun. */
const struct podname *podnames_find(struct podnames *pods, const char *uid)
{
	const struct podname *found = search(pods, uid);
	uint64_t now = clock_now_ns();
	bool fresh = pods->read_ns && now - pods->read_ns < pods->reread_ns;

	if (found || (fresh && is_unnamed(pods, uid)))
		return found;
	found = podnames_find_new(pods, uid);
	if (found || is_unnamed(pods, uid))
		return found;
	if (pods->unnamed.n == MAX_UNNAMED)
		forget_unnamed(pods);
	*vec_push(&pods->unnamed) = (struct unnamed){alloc_strdup(uid), now};
	return NULL;
}

bool podnames_may_come(const struct podnames *pods)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < pods->unnamed.n; i++)
		if (now - pods->unnamed.at[i].since_ns < COME_NS &&
		    !search(pods, pods->unnamed.at[i].uid))
			return true;
	return false;
}

bool podnames_has_any(const struct podnames *pods)
{
	return pods->list.n;
}
