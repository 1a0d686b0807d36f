/*
 * Where containers have the program that an `exe` filter names. The kernel programs know it by its
 * inode, which a pass forgets when it meets no process of it: another file may have it by then.
 * A container that goes on has the program all the same, for jobs that come and go between passes;
 * so before it is forgotten it is looked for at its path there.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

bool filters_device(struct filters *filters, struct procview *view, int fd, dev_t seen,
		    dev_t *device)
{
	ino_t ns = procview_mount_ns(view);
	size_t n = filters->n_devices < FILTER_DEVICES ? filters->n_devices : FILTER_DEVICES;

	*device = seen;
	if (major(seen))
		return true; /* no need to remember */
	for (size_t i = 0; i < n; i++) {
		*device = filters->devices[i].dev;
		if (filters->devices[i].mount_ns == ns && filters->devices[i].seen == seen)
			return true;
	}
	bool known = fd < 0 ? procview_exe_device(view, seen, device)
			    : procview_file_device(view, fd, seen, device);
	if (known)
		filters->devices[filters->n_devices++ % FILTER_DEVICES] =
			(struct filter_device){ns, seen, *device};
	return known;
}

struct search {
	struct filters *filters;
	const char *path;
	const struct filter_place *known;
	struct filter_place found; /* ino 0: nothing */
	bool starved;
};

/* The known file, or else the last that there was: another process may have another root. */
static bool look_up(void *context, struct procview *view)
{
	struct search *search = context;
	_cleanup_close_ int fd = residents_open_file(view, search->path);
	struct stat st;
	dev_t dev;

	search->starved |= fd == -EMFILE;
	if (fd < 0 || fstat(fd, &st) || !filters_device(search->filters, view, fd, st.st_dev, &dev))
		return true;
	search->found = (struct filter_place){search->known->mount_ns, dev, st.st_ino};
	return dev != search->known->dev || st.st_ino != search->known->ino;
}

/* Places that nobody is in any more, or that have no such file, are forgotten. */
static int look_into_places(struct filters *filters, struct filter *filter,
			    struct residents *residents)
{
	for (size_t i = 0; i < UP_RULE_INODES && filter->places[i].mount_ns; i++) {
		struct filter_place *place = &filter->places[i];
		struct search search = {filters, filter->spec->exe, place, {0}, false};
		if (rule_knows_exe(&filter->found, place->dev, place->ino))
			continue; /* the pass has met it */
		int result = residents_each(residents, place->mount_ns, look_up, &search);
		if (result || search.starved)
			return result ? result : -EMFILE;
		*place = search.found.ino ? search.found
					  : (struct filter_place){.mount_ns = place->mount_ns};
		if (place->ino)
			rule_learn_exe(&filter->found, place->dev, place->ino);
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
		result = look_into_places(filters, filter, &residents);
		forget_places(filter);
	}
	residents_fini(&residents);
	return result;
}
