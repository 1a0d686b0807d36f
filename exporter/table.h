/*
 * The table of configured probes, as its keepers see it: probes.c (passes and snapshots), follow.c
 * (files and processes that change), reload.c (another config). Only the main thread changes it.
 */
#ifndef EXPORTER_TABLE_H
#define EXPORTER_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "file_stamp.h"
#include "filters.h"
#include "groups.h"
#include "kernel/attach.h"
#include "kernel/mapping.h"
#include "label_sets.h"
#include "loop.h"
#include "probe.h"
#include "superseded.h"

struct target {
	const struct spec_target *spec;
	struct probe *probes; /* n_probes of them, with labels that differ; owned */
	size_t n_probes;
	struct file_stamp stamp; /* of the file that was last resolved; zero: there was none */
	struct file_stamp seen;	 /* and when it was last looked at */
	VEC(struct superseded) superseded;
	struct label_sets label_sets;
	double created_unix; /* since when upgrades are counted */
	uint64_t upgrades;
	double last_unix;   /* when the file that is probed was last seen in its place */
	double gap_seconds; /* from when the present file was there to when it was probed */
	int pidfd;	    /* of a filtered target's process while attached; -1 */
	bool replaced;	    /* its file, as a reload that is under way has noticed */
	bool changed;	    /* its functions, by that reload */
	bool room;	    /* was made, since it was last resolved, by letting go of something */
	bool ended;	    /* that process has ended: a pid names one process, not its successor */
};

/* Where processes have the same file at the path of a target. */
struct place {
	const struct target *target;
	ino_t mount_ns;
	dev_t root_dev;
	ino_t root_ino;
	bool has_file;
	struct mapping_state file;
};

struct probes {
	const struct spec *spec;  /* the one in force; of `specs` */
	VEC(struct spec *) specs; /* that some plan is of; owned, but the first is the caller's */
	struct attach *attach;
	struct groups *groups;	 /* owned */
	struct filters *filters; /* owned */
	struct loop *loop;
	VEC(struct plan *) plans; /* that some probe points into; owned */
	struct target *targets;	  /* n_targets, as in `spec` */
	size_t n_targets;
	double started_unix;
	uint64_t labels_looked_ns; /* when sets were last looked at for what has ended */
	bool reload_successful;
	double reload_success_unix;
	struct residents residents; /* at the last look at what superseded files are for */
	VEC(struct place) places;   /* that the look at all processes which is under way came by */
	bool passing;
	bool settling; /* the table is being attached: files elsewhere have to wait */
	atomic_bool ready;
	pthread_mutex_t sweep_lock; /* one sweep at a time; taken before `lock` if both are */
	pthread_mutex_t lock;	    /* over all of the above, against snapshots */
};

double table_now_unix(void);

/* A target of which nothing is known yet but its place in the spec. */
void table_init_target(struct target *target, const struct spec_target *spec);
void table_fini_target(struct target *target);

/* The file that the target's probes of a plan are for; NULL when there is none. */
const struct plan_file *table_file_of(const struct plan_probe *probes, size_t n);
/* The file that the target's probes are attached to; NULL when none is. */
const struct plan_file *table_attached_file(const struct target *target);
/*
 * Note the file that was resolved for the target. What its path leads to before or after may be
 * another one.
 */
void table_note_file(struct target *target, const struct plan_file *file);

/*
 * Attach what of `plan` is not attached, and note the outcomes; each of its probes is that of
 * `owners`, NULL where another has its label.
 */
void table_attach(struct probes *probes, const struct plan *plan, struct probe *const *owners);

/* For struct attach_placed: series are shown, and have those by labels, before they count. */
struct table_placed {
	struct probes *probes;
	struct probe *const *owners; /* of the plan's probes; NULL: not its own */
};
void table_placed(void *context, const struct plan *plan, const struct attach_result *results);

/* For struct attach_result: the filter of a probe; -1 with the reason in `result`. */
int table_filter_of(const struct probes *probes, const struct plan_probe *plan,
		    struct attach_result *result);

/* A probe is not attached any more. Its series stays. */
void table_detached(struct probes *probes, struct probe *probe, enum reason reason,
		    const char *detail);

/* Release plans that no probe points into any more, and specs that no plan is of. */
void table_drop_unused(struct probes *probes);

/*
 * Give a target the rows of a new plan of it, which the table owns from now on: for each of the
 * plan's probes its row, NULL where another has its label. The caller frees the array.
 */
struct probe **table_adopt(struct probes *probes, struct target *target, struct plan *plan);

/* A process was selected that has a mount namespace of its own: probe the files it has there. */
void elsewhere_selected(void *probes, uint32_t filter, struct procview *view);
/* A look at all processes begins or ends. */
void elsewhere_passing(void *probes, bool begins);

/* Let go of files elsewhere whose probes are not those of the target any more; they are found
 * again. */
void elsewhere_renew(struct probes *probes);

/*
 * Resolve a target again and attach what is not attached. `stamp` is of its path, for when there is
 * no file that can be resolved.
 */
void table_retry_target(struct probes *probes, struct target *target,
			const struct file_stamp *stamp);

/* Look at a target's file and act on what has become of it; whether it is worth resolving now. */
bool follow_file(struct probes *probes, struct target *target, const struct file_stamp *stamp);
/*
 * What is attached to the target's file goes on by itself, as long as processes run it; its probes
 * count as not attached, for this reason, until they are attached to another.
 */
void follow_supersede(struct probes *probes, struct target *target, enum reason reason);
/* The target's new file has just been probed: note how long it was not. */
void follow_gap(struct probes *probes, struct target *target);
/*
 * The target's path leads to this file, which is about to be probed: if it was one of the other
 * files, it is not any more.
 */
void follow_take_back(struct probes *probes, struct target *target, dev_t dev, ino_t ino);
/* Let go of one of the target's other files. */
void follow_drop(struct probes *probes, struct target *target, size_t at);
/* Let go of other files that no process runs any more. */
void follow_superseded(struct probes *probes, struct target *target);
/* Links per process follow the selected processes; probes that some lack are shown as held back. */
void held_back_look(struct probes *probes);
/* Hear of the end of a filtered target's process. */
void follow_process(struct probes *probes, struct target *target);

#endif
