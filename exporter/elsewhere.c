/*
 * A target's file as containers have it. The path of a target with a process filter is looked up in
 * the mount namespace of each process that the filter selects. The same image in many containers is
 * one file: what tells files apart is the layer that holds them.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "table.h"
#include "target/file.h"
#include "target/resolve.h"

/* Files of one target that are probed at once besides the one at its path. */
enum { MOST_FILES = 256 };

static bool same_file(const struct mapping_state *a, const struct mapping_state *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Which file it really is; what it looks like where the kernel cannot tell. */
static struct mapping_state real_file(const struct probes *probes, int fd)
{
	struct mapping_state state = {0};
	struct stat st;

	if (attach_look(probes->attach, fd, &state) && !fstat(fd, &st)) {
		state.dev = st.st_dev;
		state.ino = st.st_ino;
	}
	return state;
}

/* The file that is probed at the target's own path. */
static bool is_at_home(const struct probes *probes, const struct target *target,
		       const struct mapping_state *real)
{
	for (size_t i = 0; i < target->n_probes; i++) {
		const struct probe *probe = &target->probes[i];
		if (!probe->status.attached)
			continue;
		struct mapping_state home = real_file(probes, probe->plan->file->fd);
		return same_file(&home, real);
	}
	return false;
}

static struct superseded *find(struct target *target, const struct mapping_state *real)
{
	for (size_t i = 0; i < target->superseded.n; i++) {
		struct superseded *file = &target->superseded.at[i];
		if (file->elsewhere && same_file(&file->real, real))
			return file;
	}
	return NULL;
}

static void add_user(struct superseded *file, struct procview *view)
{
	const struct procview_stat *stat = procview_stat(view);

	for (size_t i = 0; stat && i < file->users.n; i++)
		if (file->users.at[i].pid == view->pid &&
		    file->users.at[i].start_ticks == stat->start_ticks)
			return;
	if (stat)
		*vec_push(&file->users) = (struct superseded_user){view->pid, stat->start_ticks};
}

static size_t attach_file(struct probes *probes, const struct plan *plan, struct probe **owners,
			  struct attach_result *results)
{
	size_t attached = 0;

	for (size_t i = 0; i < plan->n_probes; i++) {
		results[i].attached = !owners[i];
		results[i].series = owners[i] ? owners[i]->series : -1;
		results[i].filter = table_filter_of(probes, &plan->probes[i], &results[i]);
	}
	attach_plan(probes->attach, plan, results,
		    &(struct attach_placed){table_placed, &(struct table_placed){probes, owners}});
	pthread_mutex_lock(&probes->lock);
	for (size_t i = 0; i < plan->n_probes; i++) {
		if (!owners[i]) {
			results[i].attached = false; /* another entry has the label */
			continue;
		}
		owners[i]->series = results[i].series;
		attached += results[i].attached;
	}
	pthread_mutex_unlock(&probes->lock);
	return attached;
}

static void probe_file(struct probes *probes, struct target *target, struct procview *view,
		       int root_fd, const struct mapping_state *real)
{
	struct plan *plan = resolve_plan_in(probes->spec, target->spec, root_fd);
	struct probe **owners = table_adopt(probes, target, plan); /* patterns have more */
	struct attach_result *results = alloc_zero(plan->n_probes, sizeof(*results));
	struct superseded file;
	size_t attached = attach_file(probes, plan, owners, results);

	log_info("the file of a container is probed", LOG_STR("target", target->spec->name),
		 LOG_STR("binary", target->spec->binary), LOG_INT("pid", view->pid),
		 LOG_INT("attached", attached), LOG_INT("not_attached", plan->n_probes - attached));
	if (superseded_init_elsewhere(&file, plan, results, probes->attach)) {
		file.real = *real;
		add_user(&file, view);
		pthread_mutex_lock(&probes->lock);
		*vec_push(&target->superseded) = file;
		pthread_mutex_unlock(&probes->lock);
	}
	free(results);
	free(owners);
	table_drop_unused(probes);
}

static void look_at(struct probes *probes, struct target *target, struct procview *view,
		    int root_fd)
{
	struct arena arena;
	struct file file;
	struct err err;

	arena_init(&arena);
	if (!file_open_in(&file, root_fd, target->spec->binary, &arena, &err)) {
		struct mapping_state real = real_file(probes, file.fd);
		struct superseded *known = find(target, &real);
		close(file.fd);
		if (known)
			add_user(known, view);
		else if (!is_at_home(probes, target, &real) && target->superseded.n < MOST_FILES)
			probe_file(probes, target, view, root_fd, &real);
	}
	arena_fini(&arena);
}

/* Whether the file's probes feed what the target has configured now. */
static bool is_current(const struct target *target, const struct superseded *file)
{
	size_t n = 0;

	for (size_t i = 0; i < target->n_probes; i++) {
		const struct probe *probe = &target->probes[i];
		const struct superseded_probe *there = superseded_find(file, probe->plan);
		n += there && there->series == probe->series;
	}
	return n == file->n && !target->changed;
}

void elsewhere_renew(struct probes *probes)
{
	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		for (size_t j = target->superseded.n; j-- > 0;)
			if (target->superseded.at[j].elsewhere &&
			    !is_current(target, &target->superseded.at[j]))
				follow_drop(probes, target, j);
	}
}

void elsewhere_selected(void *context, uint32_t filter, struct procview *view)
{
	struct probes *probes = context;
	_cleanup_close_ int root_fd = procview_root(view);
	struct err err;

	for (size_t i = 0; root_fd >= 0 && !probes->settling && i < probes->n_targets; i++)
		if (filters_of(probes->filters, probes->targets[i].spec, &err) == (int)filter + 1)
			look_at(probes, &probes->targets[i], view, root_fd);
}
