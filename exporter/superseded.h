/*
 * Files that a target's probes were on and that are not what it names any more: an old version of
 * a program, which processes still run. Its probes go on, and feed the same series as those on the
 * new file, until the last process has ended.
 */
#ifndef EXPORTER_SUPERSEDED_H
#define EXPORTER_SUPERSEDED_H

#include "collect/collect.h"
#include "file_stamp.h"
#include "kernel/attach.h"
#include "probe.h"

struct superseded_probe {
	char *label; /* owned */
	int series;
	struct collect_place place; /* its texts are the file's */
};

struct superseded {
	dev_t dev;
	ino_t ino;
	int fd; /* owned */
	struct file_stamp stamp;
	char *path, *build_id;
	struct superseded_probe *probes; /* by label; owned */
	size_t n;
	unsigned looks; /* that were put off, where looking is costly */
};

/*
 * Take over those of the probes that are attached to their plan's file, which had this stamp when
 * they were; false when none is.
 */
bool superseded_init(struct superseded *old, const struct probe *probes, size_t n,
		     const struct file_stamp *stamp);
/* Release it; its links must have been closed. */
void superseded_fini(struct superseded *old);

/*
 * Whether a process maps the file still, as far as can be told now. No when it was written to: its
 * probes are where they should not be.
 */
bool superseded_in_use(struct superseded *old, const struct attach *attach);
/* Close its links. */
void superseded_drop(const struct superseded *old, struct attach *attach);

/* The probe of this label; NULL. */
const struct superseded_probe *superseded_find(const struct superseded *old, const char *label);

#endif
