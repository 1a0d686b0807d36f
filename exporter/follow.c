/*
 * Files and processes that change while they are probed.
 *
 * A file that is replaced (another inode under its path) stays probed for the processes that run
 * it, and the new one is probed as well: both feed the same series. One that is written to is let
 * go of at once, because programs that start from it run into breakpoints inside other
 * instructions.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "table.h"

/* Where there were too many, others may be probed now. */
static void note_room(struct probes *probes)
{
	for (size_t i = 0; i < probes->n_targets; i++)
		probes->targets[i].room = true;
}

/* ---- filtered processes ---- */

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void process_ended(void *context, int fd)
{
	struct probes *probes = context;

	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		if (target->pidfd != fd)
			continue;
		loop_unwatch(probes->loop, fd);
		close(fd);
		target->pidfd = -1;
		target->ended = true;
		attach_drop_process(probes->attach, target->spec->pid);
		note_room(probes);
		for (size_t j = 0; j < target->n_probes; j++)
			if (target->probes[j].status.attached)
				table_detached(probes, &target->probes[j], REASON_PROCESS_NOT_FOUND,
					       "the process has ended; its pid is not followed "
					       "further");
		return;
	}
}

/* Hear of the end of a filtered target's process. */
void follow_process(struct probes *probes, struct target *target)
{
	if (!target->spec->pid || target->pidfd >= 0 || target->ended)
		return;
	target->pidfd = open_pidfd(target->spec->pid);
	if (target->pidfd >= 0)
		loop_watch(probes->loop, target->pidfd, process_ended, probes);
}

/* ---- files that are written to ---- */

/* Let go of a file, whichever target it is of. */
static void drop_file(struct probes *probes, const struct file_stamp *stamp)
{
	attach_drop_file(probes->attach, stamp->dev, stamp->ino);
	note_room(probes);
	for (size_t i = 0; i < probes->n_targets; i++) {
		struct target *target = &probes->targets[i];
		for (size_t j = 0; j < target->n_probes; j++) {
			struct probe *probe = &target->probes[j];
			if (probe->status.attached && probe->plan->file->dev == stamp->dev &&
			    probe->plan->file->ino == stamp->ino)
				table_detached(probes, probe, REASON_BINARY_CHANGED,
					       "the file was written to in place; it is probed "
					       "again when that has ended");
		}
	}
}

/* ---- files that are replaced ---- */

void follow_drop(struct probes *probes, struct target *target, size_t at)
{
	struct superseded old = target->superseded.at[at];

	superseded_drop(&old, probes->attach);
	note_room(probes);
	log_info(old.elsewhere ? "the file of a container is let go of"
			       : "the old file is let go of",
		 LOG_STR("target", target->spec->name), LOG_STR("binary", old.path),
		 LOG_STR("build_id", old.build_id));
	pthread_mutex_lock(&probes->lock);
	target->superseded.at[at] = target->superseded.at[--target->superseded.n];
	pthread_mutex_unlock(&probes->lock);
	superseded_fini(&old);
}

void follow_superseded(struct probes *probes, struct target *target)
{
	for (size_t i = target->superseded.n; i-- > 0;)
		if (!superseded_in_use(&target->superseded.at[i], probes->attach,
				       &probes->residents))
			follow_drop(probes, target, i);
}

void follow_take_back(struct probes *probes, struct target *target, dev_t dev, ino_t ino)
{
	for (size_t i = target->superseded.n; i-- > 0;)
		if (target->superseded.at[i].dev == dev && target->superseded.at[i].ino == ino)
			follow_drop(probes, target, i);
}

void follow_supersede(struct probes *probes, struct target *target, enum reason reason)
{
	struct superseded old;

	if (!superseded_init(&old, target->probes, target->n_probes, &target->stamp))
		return;
	pthread_mutex_lock(&probes->lock);
	*vec_push(&target->superseded) = old;
	for (size_t i = 0; i < target->n_probes; i++) {
		struct probe_status *status = &target->probes[i].status;
		if (!status->attached)
			continue;
		status->attached = false;
		status->reason = reason;
		status->kind = NULL;
	}
	pthread_mutex_unlock(&probes->lock);
}

void follow_gap(struct probes *probes, struct target *target)
{
	const struct timespec *changed = &target->stamp.changed;
	double there = (double)changed->tv_sec + (double)changed->tv_nsec / 1e9;

	if (there < target->last_unix) /* a link leads to it now, which may be old itself */
		there = target->last_unix;
	double gap = table_now_unix() - there;

	pthread_mutex_lock(&probes->lock);
	target->upgrades++;
	target->gap_seconds = gap > 0 ? gap : 0;
	pthread_mutex_unlock(&probes->lock);
}

bool follow_file(struct probes *probes, struct target *target, const struct file_stamp *stamp)
{
	bool settled = file_stamp_equal(stamp, &target->seen);

	target->seen = *stamp;
	if (!table_attached_file(target))
		return settled || !file_stamp_same_inode(stamp, &target->stamp);
	if (file_stamp_same_inode(stamp, &target->stamp)) {
		target->last_unix = table_now_unix();
		if (file_stamp_content_differs(stamp, &target->stamp))
			drop_file(probes, stamp);
		return settled;
	}
	if (!stamp->ino && !settled)
		return false; /* it may be just between unlink and create */
	log_info(stamp->ino ? "the file was replaced" : "the file is gone",
		 LOG_STR("target", target->spec->name), LOG_STR("binary", target->spec->binary));
	follow_supersede(probes, target,
			 stamp->ino ? REASON_BINARY_CHANGED : REASON_BINARY_NOT_FOUND);
	return stamp->ino != 0;
}
