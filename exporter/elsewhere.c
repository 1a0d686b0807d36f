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

/* The file that is probed at the target's own path. */
static bool is_at_home(const struct probes *probes, const struct target *target,
		       const struct mapping_state *real)
{
	for (size_t i = 0; i < target->n_probes; i++) {
		const struct probe *probe = &target->probes[i];
		if (!probe->status.attached)
			continue;
		struct mapping_state home =
			superseded_real_file(probes->attach, probe->plan->file->fd);
		return superseded_same_file(&home, real);
	}
	return false;
}

static struct superseded *find(struct target *target, const struct mapping_state *real)
{
	for (size_t i = 0; i < target->superseded.n; i++) {
		struct superseded *file = &target->superseded.at[i];
		if (file->elsewhere && superseded_same_file(&file->real, real))
			return file;
	}
	return NULL;
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
		superseded_add_user(&file, view);
		pthread_mutex_lock(&probes->lock);
		*vec_push(&target->superseded) = file;
		pthread_mutex_unlock(&probes->lock);
	}
	free(results);
	free(owners);
	table_drop_unused(probes);
}

/* ---- places ---- */

/* Which file a process has at the target's path; false when it cannot be looked at. */
static bool look_into(const struct probes *probes, struct place *place, int root_fd)
{
	struct arena arena;
	struct file file;
	struct err err;

	if (root_fd < 0)
		return false;
	arena_init(&arena);
	place->has_file = !file_open_in(&file, root_fd, place->target->spec->binary, &arena, &err);
	if (place->has_file) {
		place->file = superseded_real_file(probes->attach, file.fd);
		close(file.fd);
	}
	arena_fini(&arena);
	return true;
}

/* As it was found earlier in the look at all processes that is under way. */
static const struct place *known_place(const struct probes *probes, const struct place *wanted)
{
	/* pids of one container lie together: the newest first */
	for (size_t i = probes->passing ? probes->places.n : 0; i-- > 0;) {
		const struct place *place = &probes->places.at[i];
		if (place->target == wanted->target && place->mount_ns == wanted->mount_ns &&
		    place->root_dev == wanted->root_dev && place->root_ino == wanted->root_ino)
			return place;
	}
	return NULL;
}

void elsewhere_passing(void *context, bool begins)
{
	struct probes *probes = context;

	probes->passing = begins;
	probes->places.n = 0;
}

static void come_by(struct probes *probes, struct target *target, struct procview *view,
		    struct place place)
{
	_cleanup_close_ int root_fd = -1;

	place.target = target;
	const struct place *known = known_place(probes, &place);
	if (known) {
		place = *known;
	} else {
		root_fd = procview_root(view);
		if (!look_into(probes, &place, root_fd))
			return;
		if (probes->passing)
			*vec_push(&probes->places) = place;
	}
	struct superseded *file = place.has_file ? find(target, &place.file) : NULL;
	if (file)
		superseded_add_user(file, view);
	else if (!known && place.has_file && !is_at_home(probes, target, &place.file) &&
		 target->superseded.n < MOST_FILES && procview_stat(view))
		probe_file(probes, target, view, root_fd, &place.file);
}

void elsewhere_selected(void *context, uint32_t filter, struct procview *view)
{
	struct probes *probes = context;
	struct place place = {.mount_ns = procview_mount_ns(view)};
	struct stat root;
	struct err err;

	if (probes->settling || !place.mount_ns || !procview_root_stat(view, &root))
		return;
	place.root_dev = root.st_dev;
	place.root_ino = root.st_ino;
	for (size_t i = 0; i < probes->n_targets; i++)
		if (filters_of(probes->filters, probes->targets[i].spec, &err) == (int)filter + 1)
			come_by(probes, &probes->targets[i], view, place);
}

/* ---- reloads ---- */

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
