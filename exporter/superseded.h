/*
 * Files that a target's probes are on besides the one at its path: an old version of a program,
 * which processes still run, or the file that containers have at that path. Its probes feed the
 * same series as the others, until the last process has ended.
 */
#ifndef EXPORTER_SUPERSEDED_H
#define EXPORTER_SUPERSEDED_H

#include "base/vec.h"
#include "collect/collect.h"
#include "file_stamp.h"
#include "kernel/attach.h"
#include "probe.h"
#include "target/procview.h"
#include "target/residents.h"

enum { SUPERSEDED_NONE = -2 }; /* no probe has that */

struct superseded_probe {
	bool usdt;
	char *label;		    /* owned */
	int series;		    /* SUPERSEDED_NONE: it is gone */
	struct collect_place place; /* its texts are the file's */
};

enum { SUPERSEDED_NAMESPACES = 256 };

/* A process that finds the file at its path. */
struct superseded_user {
	pid_t pid;
	uint64_t start_ticks;
};

struct superseded {
	dev_t dev; /* as its probes are attached */
	ino_t ino;
	struct mapping_state real; /* which file it is whatever layers it is seen through */
	bool elsewhere;		   /* in containers; else an old version */
	/* Elsewhere: mount namespaces that had it, the newest first, and who finds it. */
	VEC(ino_t) namespaces;
	struct superseded_user user; /* pid 0: nobody */
	unsigned user_looks;
	int fd; /* owned */
	struct file_stamp stamp;
	char *path, *build_id;
	struct superseded_probe *probes; /* by kind and label; owned */
	size_t n;
	unsigned looks; /* that were put off, where looking is costly */
};

/* Which file it really is; what it looks like where the kernel cannot tell. */
struct mapping_state superseded_real_file(const struct attach *attach, int fd);
bool superseded_same_file(const struct mapping_state *a, const struct mapping_state *b);

/*
 * The file of a plan that was just attached for processes elsewhere: those of its probes that were,
 * perhaps none: it is known all the same, so that it is not resolved for each process again. False
 * when the plan has no file.
 */
bool superseded_init_elsewhere(struct superseded *file, const struct plan *plan,
			       const struct attach_result *results, const struct attach *attach);

/*
 * Take over those of the probes that are attached to their plan's file, which had this stamp when
 * they were; false when none is.
 */
bool superseded_init(struct superseded *old, const struct probe *probes, size_t n,
		     const struct file_stamp *stamp);
/* Release it; its links must have been closed. */
void superseded_fini(struct superseded *old);

/*
 * A process has the file in its container, where it is in use for as long as anybody is there who
 * finds it at its path: jobs come and go.
 */
void superseded_add_user(struct superseded *file, struct procview *view);

/*
 * Whether the file is in use still, as far as can be told now: a process maps it, or finds it
 * elsewhere. No when it was written to: its probes are where they should not be.
 */
bool superseded_in_use(struct superseded *old, const struct attach *attach,
		       struct residents *residents);
/* Close its links. */
void superseded_drop(const struct superseded *old, struct attach *attach);

/* These series are gone (sorted): they may be given to other probes, of the same labels even. */
void superseded_forget(struct superseded *old, const int *series, size_t n);

/* The probe of the same kind and label; NULL. */
const struct superseded_probe *superseded_find(const struct superseded *old,
					       const struct plan_probe *probe);

#endif
