/*
 * Where containers have the program that an `exe` filter names. The kernel programs know it by its
 * inode, which a pass forgets when it meets no process of it: another file may have it by then.
 * A container that goes on has the program all the same, for jobs that come and go between passes;
 * so before it is forgotten it is looked for at its path there.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "filters_inside.h"
#include "target/file.h"
#include "target/procs.h"

void filters_note_place(struct filter *filter, ino_t mount_ns, dev_t dev, ino_t ino)
{
	struct filter_place *oldest = &filter->places[UP_RULE_INODES - 1];
	struct filter_place *place = filter->places;

	while (place < oldest && place->mount_ns && place->mount_ns != mount_ns)
		place++;
	memmove(&filter->places[1], &filter->places[0],
		(size_t)(place - filter->places) * sizeof(*place));
	filter->places[0] = (struct filter_place){mount_ns, dev, ino};
}

/* Whether the pass that is under way has to look for the program there. */
static bool is_unmet(const struct filter *filter, const struct filter_place *place)
{
	return place->mount_ns && !filter->skipped &&
	       !rule_knows_exe(&filter->found, place->dev, place->ino);
}

static size_t count_unmet(const struct filters *filters)
{
	size_t n = 0;

	for (uint32_t i = 0; i < filters->n; i++)
		for (size_t j = 0; filters->filter[i].spec && j < UP_RULE_INODES; j++)
			n += is_unmet(&filters->filter[i], &filters->filter[i].places[j]);
	return n;
}

/* Which file a process has at the path of `exe`. */
static bool look_up(struct procview *view, const char *path, struct stat *st)
{
	_cleanup_close_ int root_fd = procview_root(view);
	struct arena arena;
	struct file file;
	struct err err;

	if (root_fd < 0)
		return false;
	arena_init(&arena);
	bool found = !file_open_in(&file, root_fd, path, &arena, &err);
	arena_fini(&arena);
	if (!found)
		return false;
	found = !fstat(file.fd, st);
	close(file.fd);
	return found;
}

/* In how many places the program was found. */
static size_t look_from(struct filter *filter, struct procview *view, ino_t mount_ns)
{
	size_t n = 0;
	struct stat st;

	for (size_t i = 0; i < UP_RULE_INODES; i++) {
		struct filter_place *place = &filter->places[i];
		if (place->mount_ns != mount_ns || !is_unmet(filter, place))
			continue;
		if (!look_up(view, filter->spec->exe, &st))
			continue; /* another process there may have another root */
		n++;
		place->dev = st.st_dev;
		place->ino = st.st_ino;
		rule_learn_exe(&filter->found, st.st_dev, st.st_ino);
	}
	return n;
}

struct looking {
	struct filters *filters;
	size_t unmet;
};

static bool look_from_process(void *context, struct procview *view)
{
	struct looking *looking = context;
	struct filters *filters = looking->filters;
	ino_t mount_ns = procview_mount_ns(view);

	for (uint32_t i = 0; mount_ns && i < filters->n; i++)
		if (filters->filter[i].spec)
			looking->unmet -= look_from(&filters->filter[i], view, mount_ns);
	return looking->unmet;
}

/* Places where it is not any more, or nobody. */
static void forget_unmet(struct filters *filters)
{
	for (uint32_t i = 0; i < filters->n; i++)
		for (size_t j = 0; filters->filter[i].spec && j < UP_RULE_INODES; j++)
			if (is_unmet(&filters->filter[i], &filters->filter[i].places[j]))
				filters->filter[i].places[j] = (struct filter_place){0};
}

void filters_look_into_places(struct filters *filters)
{
	struct looking looking = {filters, count_unmet(filters)};

	if (looking.unmet && !procs_each(filters->proc_fd, look_from_process, &looking))
		forget_unmet(filters);
}
