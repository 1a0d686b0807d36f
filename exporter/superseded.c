/* Old files: what they need to go on by themselves, without the plan that they came from. */
#include "superseded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "target/file.h"
#include "target/proc.h"
#include "target/procs.h"
#include "target/procview.h"

/* Where the kernel does not tell who maps a file, all of /proc is read: not at each look. */
enum { LOOKS_BETWEEN = 20 };

enum { USERS_AT_FIRST = 64 }; /* that are kept without asking whether they have ended */

static int by_label(const void *left, const void *right)
{
	const struct superseded_probe *a = left, *b = right;

	return a->usdt != b->usdt ? a->usdt - b->usdt : strcmp(a->label, b->label);
}

static void take_file(struct superseded *old, const struct plan_file *file)
{
	old->dev = file->dev;
	old->ino = file->ino;
	old->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	old->path = alloc_strdup(file->path);
	old->build_id = alloc_strdup(file->build_id);
}

static void take(struct superseded *old, const struct plan_probe *plan, int series,
		 const char *kind)
{
	if (!old->path)
		take_file(old, plan->file);
	old->probes[old->n++] = (struct superseded_probe){
		.usdt = spec_is_usdt(plan->function),
		.label = alloc_strdup(plan->label),
		.series = series,
		.place = {.binary = old->path,
			  .build_id = old->build_id,
			  .entry_offset = plan->entry_offset,
			  .strategy = plan->strategy,
			  .kind = kind},
	};
}

/* In the order of their labels. */
static void settle(struct superseded *old)
{
	if (old->n)
		qsort(old->probes, old->n, sizeof(*old->probes), by_label);
}

bool superseded_init(struct superseded *old, const struct probe *probes, size_t n,
		     const struct file_stamp *stamp)
{
	*old = (struct superseded){
		.fd = -1, .stamp = *stamp, .probes = alloc_zero(n, sizeof(*old->probes))};
	for (size_t i = 0; i < n; i++)
		if (probes[i].status.attached)
			take(old, probes[i].plan, probes[i].series, probes[i].status.kind);
	settle(old);
	if (old->n)
		return true;
	superseded_fini(old);
	return false;
}

bool superseded_init_elsewhere(struct superseded *file, const struct plan *plan,
			       const struct attach_result *results, const struct attach *attach)
{
	if (!plan->n_files)
		return false;
	*file = (struct superseded){.elsewhere = true,
				    .probes = alloc_zero(plan->n_probes, sizeof(*file->probes))};
	take_file(file, &plan->files[0]);
	file->stamp = file_stamp_of_fd(file->fd);
	for (size_t i = 0; i < plan->n_probes; i++)
		if (results[i].attached)
			take(file, &plan->probes[i], results[i].series,
			     attach_kind(attach, plan->probes[i].strategy));
	settle(file);
	return true;
}

struct mapping_state superseded_real_file(const struct attach *attach, int fd)
{
	struct mapping_state state = {0};
	struct stat st;

	if (attach_look(attach, fd, &state) && !fstat(fd, &st)) {
		state.dev = st.st_dev;
		state.ino = st.st_ino;
	}
	return state;
}

bool superseded_same_file(const struct mapping_state *a, const struct mapping_state *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

void superseded_fini(struct superseded *old)
{
	if (old->fd >= 0)
		close(old->fd);
	for (size_t i = 0; i < old->n; i++)
		free(old->probes[i].label);
	vec_fini(&old->users);
	free(old->probes);
	free(old->path);
	free(old->build_id);
}

/* ---- users ---- */

static bool is_there(const struct superseded_user *user, int proc_fd)
{
	struct procview view;

	procview_glance(&view, proc_fd, user->pid);
	const struct procview_stat *stat = procview_stat(&view);
	return stat && !stat->ended && stat->start_ticks == user->start_ticks;
}

/* Forget users that have ended: all of them, or those behind the last that has not. */
static void forget_ended(struct superseded *file, bool all)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = proc_fd < 0 ? 0 : file->users.n; i-- > 0;) {
		if (!is_there(&file->users.at[i], proc_fd))
			file->users.at[i] = file->users.at[--file->users.n];
		else if (!all)
			break;
	}
}

static void note_namespace(struct superseded *file, ino_t mount_ns)
{
	size_t i = 0, last = SUPERSEDED_NAMESPACES - 1;

	while (i < last && file->mount_ns[i] && file->mount_ns[i] != mount_ns)
		i++;
	memmove(&file->mount_ns[1], &file->mount_ns[0], i * sizeof(file->mount_ns[0]));
	file->mount_ns[0] = mount_ns;
}

static void push_user(struct superseded *file, const struct procview *view,
		      const struct procview_stat *stat)
{
	*vec_push(&file->users) = (struct superseded_user){view->pid, stat->start_ticks};
}

/* A container may start processes for ever: those that have ended must not pile up. */
void superseded_add_user(struct superseded *file, struct procview *view)
{
	const struct procview_stat *stat = procview_stat(view);

	for (size_t i = 0; stat && i < file->users.n; i++)
		if (file->users.at[i].pid == view->pid &&
		    file->users.at[i].start_ticks == stat->start_ticks)
			return;
	if (!stat)
		return;
	push_user(file, view, stat);
	note_namespace(file, procview_mount_ns(view));
	if (file->users.n < 2 * file->users_kept + USERS_AT_FIRST)
		return;
	forget_ended(file, true);
	file->users_kept = file->users.n;
}

static bool is_in_its_namespaces(const struct superseded *file, struct procview *view)
{
	ino_t mount_ns = procview_mount_ns(view);

	for (size_t i = 0; mount_ns && i < SUPERSEDED_NAMESPACES && file->mount_ns[i]; i++)
		if (file->mount_ns[i] == mount_ns)
			return true;
	return false;
}

/* Whether the process finds it at its path: a container may have another one by now. */
static bool is_at_path(const struct superseded *file, const struct attach *attach,
		       struct procview *view)
{
	_cleanup_close_ int root_fd = procview_root(view);
	struct arena arena;
	struct file found;
	struct err err;

	if (root_fd < 0)
		return false;
	arena_init(&arena);
	bool is = !file_open_in(&found, root_fd, file->path, &arena, &err);
	arena_fini(&arena);
	if (!is)
		return false;
	struct mapping_state real = superseded_real_file(attach, found.fd);
	close(found.fd);
	return superseded_same_file(&real, &file->real);
}

struct stand_in {
	struct superseded *file;
	const struct attach *attach;
};

/* The first process that has the file stands for those that have ended. */
static bool stand_in(void *context, struct procview *view)
{
	const struct stand_in *for_ended = context;

	if (!is_in_its_namespaces(for_ended->file, view) || !procview_is_process(view) ||
	    !is_at_path(for_ended->file, for_ended->attach, view))
		return true;
	push_user(for_ended->file, view, procview_stat(view));
	return false;
}

static bool has_users(struct superseded *file, const struct attach *attach)
{
	forget_ended(file, false);
	if (!file->users.n && file->mount_ns[0]) {
		_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stand_in for_ended = {file, attach};
		if (!procs_each(proc_fd, stand_in, &for_ended) && !file->users.n)
			memset(file->mount_ns, 0, sizeof(file->mount_ns));
	}
	return file->users.n > 0;
}

static bool is_mapped(struct superseded *old, const struct attach *attach)
{
	struct mapping_state state;
	struct proc_mapped mapped = {.dev = old->dev, .ino = old->ino, .path = old->path};

	int result = attach_look(attach, old->fd, &state);
	if (!result)
		return state.by_others;
	if (result != -ENOTSUP || ++old->looks % LOOKS_BETWEEN)
		return true;
	proc_count(&mapped, 1);
	return mapped.processes > 0;
}

bool superseded_in_use(struct superseded *old, const struct attach *attach)
{
	struct file_stamp now = file_stamp_of_fd(old->fd);

	if (file_stamp_content_differs(&now, &old->stamp))
		return false;
	return is_mapped(old, attach) || has_users(old, attach);
}

void superseded_drop(const struct superseded *old, struct attach *attach)
{
	_cleanup_free_ int *series = alloc_zero(old->n, sizeof(*series));
	size_t n = 0;

	for (size_t i = 0; i < old->n; i++)
		if (old->probes[i].series != SUPERSEDED_NONE)
			series[n++] = old->probes[i].series;
	attach_drop_series(attach, old->dev, old->ino, series, n);
}

void superseded_forget(struct superseded *old, const int *series, size_t n)
{
	for (size_t i = 0; n && i < old->n; i++)
		if (bsearch(&old->probes[i].series, series, n, sizeof(*series), sort_by_number))
			old->probes[i].series = SUPERSEDED_NONE;
}

const struct superseded_probe *superseded_find(const struct superseded *old,
					       const struct plan_probe *probe)
{
	struct superseded_probe key = {
		.usdt = spec_is_usdt(probe->function),
		.label = (char *)(uintptr_t)probe->label,
	};

	return old->n ? bsearch(&key, old->probes, old->n, sizeof(*old->probes), by_label) : NULL;
}
