/*
 * Where containers have the program that an `exe` filter names. The kernel programs know it by its
 * inode, which a pass forgets when it meets no process of it: another file may have it by then.
 * A container that goes on has the program all the same, for jobs that come and go between passes;
 * so before it is forgotten it is looked for at its path there.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "filters_inside.h"
#include "target/residents.h"

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

struct search {
	struct filter *filter;
	struct filter_place *place;
	bool found, starved;
};

/* The file that a process there has at the path now, which may be a newer one. */
static bool look_up(void *context, struct procview *view)
{
	struct search *search = context;
	_cleanup_close_ int fd = residents_open_file(view, search->filter->spec->exe);
	struct stat st;

	search->starved |= fd == -EMFILE;
	search->found = fd >= 0 && !fstat(fd, &st);
	if (!search->found)
		return true; /* another process there may have another root */
	*search->place = (struct filter_place){search->place->mount_ns, st.st_dev, st.st_ino};
	rule_learn_exe(&search->filter->found, st.st_dev, st.st_ino);
	return false;
}

/* Places that nobody is in any more, or that have no such file, are forgotten. */
static int look_into_places(struct filter *filter, struct residents *residents)
{
	for (size_t i = 0; i < UP_RULE_INODES && filter->places[i].mount_ns; i++) {
		struct filter_place *place = &filter->places[i];
		struct search search = {filter, place, false, false};
		if (rule_knows_exe(&filter->found, place->dev, place->ino))
			continue; /* the pass has met it */
		int result = residents_each(residents, place->mount_ns, look_up, &search);
		if (result || search.starved)
			return result ? result : -EMFILE;
		if (!search.found)
			place->ino = 0;
	}
	return 0;
}

static void forget_places(struct filter *filter)
{
	struct filter_place kept[UP_RULE_INODES] = {0};
	size_t n = 0;

	for (size_t i = 0; i < UP_RULE_INODES; i++)
		if (filter->places[i].ino)
			kept[n++] = filter->places[i];
	memcpy(filter->places, kept, sizeof(kept));
}

int filters_look_into_places(struct filters *filters)
{
	struct residents residents = {0};
	int result = 0;

	for (uint32_t i = 0; i < filters->n && !result; i++) {
		struct filter *filter = &filters->filter[i];
		if (!filter->spec || filter->skipped || !filter->places[0].mount_ns)
			continue;
		result = look_into_places(filter, &residents);
		forget_places(filter);
	}
	residents_fini(&residents);
	return result;
}
