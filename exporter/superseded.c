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
#include "target/proc.h"
#include "target/procview.h"

/*
 * What is not done at each look, since it costs: reading all of /proc where the kernel does not
 * tell who maps a file, and opening the file in a container.
 */
enum { LOOKS_BETWEEN = 20, TRIES = 100 };

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
	int result = -EAGAIN; /* another of our threads maps something */

	for (int i = 0; i < TRIES && result == -EAGAIN; i++)
		result = attach_look(attach, fd, &state);
	if (result && !fstat(fd, &st)) {
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
	vec_fini(&old->namespaces);
	free(old->probes);
	free(old->path);
	free(old->build_id);
}

/* ---- users ---- */

static void note_namespace(struct superseded *file, ino_t mount_ns)
{
	ino_t *at = file->namespaces.at;
	size_t i = 0;

	while (i < file->namespaces.n && at[i] != mount_ns)
		i++;
	if (i == file->namespaces.n) {
		if (i < SUPERSEDED_NAMESPACES)
			vec_push(&file->namespaces);
		else
			i--; /* the oldest goes */
	}
	at = file->namespaces.at;
	memmove(&at[1], &at[0], i * sizeof(*at));
	at[0] = mount_ns;
}

static void set_user(struct superseded *file, struct procview *view)
{
	const struct procview_stat *stat = procview_stat(view);

	file->user_looks = (unsigned)view->pid; /* not all files in the same turn */
	file->user = (struct superseded_user){0};
	if (stat)
		file->user = (struct superseded_user){view->pid, stat->start_ticks};
}

void superseded_add_user(struct superseded *file, struct procview *view)
{
	ino_t mount_ns = procview_mount_ns(view);

	if (mount_ns)
		note_namespace(file, mount_ns);
	if (!file->user.pid)
		set_user(file, view);
}

/* A container may have another file there by now. Whether it has this one, or cannot be asked. */
static bool finds(const struct superseded *file, const struct attach *attach, struct procview *view)
{
	int fd = residents_open_file(view, file->path);

	if (fd < 0)
		return fd == -EMFILE;
	struct mapping_state real = superseded_real_file(attach, fd);
	close(fd);
	return superseded_same_file(&real, &file->real);
}

/* Whether who was known to find it goes on, and finds it still: not asked at each look. */
static bool user_stays(struct superseded *file, const struct attach *attach)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct procview view;

	if (!file->user.pid)
		return false;
	bool stays = procview_open(&view, proc_fd, file->user.pid);
	const struct procview_stat *stat = stays ? procview_stat(&view) : NULL;
	stays = stat && !stat->ended && stat->start_ticks == file->user.start_ticks;
	if (stays && !(++file->user_looks % LOOKS_BETWEEN))
		stays = finds(file, attach, &view);
	stays |= procview_is_starved(&view);
	procview_close(&view);
	return stays;
}

struct search {
	struct superseded *file;
	const struct attach *attach;
};

static bool take_as_user(void *context, struct procview *view)
{
	const struct search *search = context;

	if (!procview_is_process(view) || !finds(search->file, search->attach, view))
		return true;
	set_user(search->file, view);
	return false;
}

/* Namespaces where nobody finds it any more are done with. */
static bool has_users(struct superseded *file, const struct attach *attach,
		      struct residents *residents)
{
	struct search search = {file, attach};

	if (user_stays(file, attach))
		return true;
	file->user = (struct superseded_user){0};
	while (file->namespaces.n) {
		ino_t mount_ns = file->namespaces.at[file->namespaces.n - 1];
		if (residents_each(residents, mount_ns, take_as_user, &search) || file->user.pid)
			return true;
		file->namespaces.n--;
	}
	return false;
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

bool superseded_in_use(struct superseded *old, const struct attach *attach,
		       struct residents *residents)
{
	struct file_stamp now = file_stamp_of_fd(old->fd);

	if (file_stamp_content_differs(&now, &old->stamp))
		return false;
	return is_mapped(old, attach) || has_users(old, attach, residents);
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
