/*
 * `labels_from`: the series that a target has for each set of label values which its processes
 * bring along. A set is of one group of processes, or of several that differ in nothing that the
 * target tells. What has no set of its own (because there are too many, or not known yet) counts in
 * the probe's own series, whose labels are `other`, until there is room. A set ends some time after
 * its last process.
 */
#ifndef EXPORTER_LABEL_SETS_H
#define EXPORTER_LABEL_SETS_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/collect.h"
#include "groups.h"

/* The series that stands in for a probe's own, for one set. */
struct label_series {
	int of; /* the probe's own */
	int series;
	bool counts; /* calls, without timing them: none is ever open */
	double created_unix;
};

struct label_group {
	uint32_t group;
	uint64_t seen_ns; /* when it last had a process, CLOCK_MONOTONIC */
	bool lacks_room;  /* for the way to some of its set's series */
};

struct label_set {
	VEC(struct label_group) groups;
	VEC(struct label_series) series;
	struct spec_label labels[SPEC_PROCESS_LABELS]; /* n_labels; the values are owned */
	size_t n_labels;
	uint64_t seen_ns; /* the latest of its groups' */
};

struct label_sets {
	VEC(struct label_set) list;
	VEC(struct label_group) folded; /* that got no set */
	bool told;			/* that there is no room */
};

struct probes;
struct target;

/* A process is about to be selected by this filter: its group, for which there are series then. */
uint32_t label_sets_selected(void *probes, uint32_t filter, struct procview *view);

/* The same of one that the kernel has selected, in a group that there is. */
void label_sets_grouped(void *probes, uint32_t filter, uint32_t group);

/* The target's probes may have series that they did not have: give them theirs of all sets. */
void label_sets_renew(struct probes *probes, struct target *target);

/*
 * Series that stand in for these `n` (sorted), which are about to be given back, go first: calls
 * are kept away from them, and when that holds (attach_wait) they are given back, under the locks.
 */
#define LABEL_SETS_ALL SIZE_MAX /* for `n`: whatever they stand in for */
void label_sets_cut(struct probes *probes, struct target *target, const int *series, size_t n);
void label_sets_forget(struct probes *probes, struct target *target, const int *series, size_t n);

/* How many groups have calls that count as `other` for want of room. */
size_t label_sets_folded(const struct target *target);

/* Let go of sets whose last process ended long ago, and fill their room. Now and then. */
void label_sets_tick(struct probes *probes);

/* Rows of a probe by labels, for a scrape; `row` has the reading of the probe's own series. */
void label_sets_fill(const struct probes *probes, const struct target *target, int series,
		     struct arena *arena, struct collect_row *row);

/* Does not touch the kernel. */
void label_sets_fini(struct label_sets *sets);

#endif
