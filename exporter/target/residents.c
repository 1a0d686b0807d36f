/* Processes by mount namespace. */
#include "target/residents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "target/file.h"
#include "target/procs.h"

static bool note(void *context, struct procview *view)
{
	struct residents *residents = context;
	ino_t mount_ns = procview_mount_ns(view);

	if (mount_ns)
		*vec_push(&residents->list) = (struct resident){mount_ns, view->pid};
	return true;
}

static int by_namespace(const void *left, const void *right)
{
	const struct resident *a = left, *b = right;

	if (a->mount_ns != b->mount_ns)
		return a->mount_ns < b->mount_ns ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int learn(struct residents *residents, int proc_fd)
{
	if (residents->known)
		return 0;
	int result = procs_each(proc_fd, note, residents);
	if (residents->list.n)
		qsort(residents->list.at, residents->list.n, sizeof(*residents->list.at),
		      by_namespace);
	residents->known = !result;
	if (result)
		residents->list.n = 0;
	return result;
}

/* Where those of a namespace begin. */
static size_t first_of(const struct residents *residents, ino_t mount_ns)
{
	size_t low = 0, high = residents->list.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (residents->list.at[middle].mount_ns < mount_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int residents_each(struct residents *residents, ino_t mount_ns, residents_visit *visit,
		   void *context)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result = proc_fd < 0 ? -errno : learn(residents, proc_fd);
	struct procview view;

	if (result)
		return result;
	for (size_t i = first_of(residents, mount_ns);
	     i < residents->list.n && residents->list.at[i].mount_ns == mount_ns; i++) {
		bool more = true;
		if (procview_open(&view, proc_fd, residents->list.at[i].pid))
			more = procview_mount_ns(&view) != mount_ns || visit(context, &view);
		bool starved = procview_is_starved(&view);
		procview_close(&view);
		if (!more)
			return 0;
		if (starved)
			return -EMFILE;
	}
	return 0;
}

void residents_forget(struct residents *residents)
{
	residents->known = false;
	residents->list.n = 0;
}

void residents_fini(struct residents *residents)
{
	residents_forget(residents);
	vec_fini(&residents->list);
}

int residents_open_file(struct procview *view, const char *path)
{
	_cleanup_close_ int root_fd = procview_root(view);
	struct arena arena;
	struct file file;
	struct err err;

	if (root_fd < 0)
		return procview_is_starved(view) ? -EMFILE : -ENOENT;
	arena_init(&arena);
	int result = file_open_in(&file, root_fd, path, &arena, &err);
	arena_fini(&arena);
	if (!result)
		return file.fd;
	return result == -EAGAIN || err.reason == REASON_OUT_OF_RESOURCES ? -EMFILE : -ENOENT;
}
