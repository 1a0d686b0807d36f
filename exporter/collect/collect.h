/*
 * Rows become a snapshot: readings of the kernel's counters, what became of each probe, and the
 * exporter's own state, as metric families. The contract of names and labels is docs/metrics.md.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/contract.h"
#include "model/floor.h"
#include "model/plan.h"
#include "model/reading.h"
#include "model/snapshot.h"
#include "model/status.h"

/* Where a probe is. */
struct collect_place {
	const char *binary, *build_id;
	uint64_t entry_offset;
	enum exit_strategy strategy;
	const char *kind; /* as in struct probe_status */
};

/* What a row counts for one set of label values that are taken from processes. */
struct collect_set {
	const struct spec_label *labels; /* n_labels */
	size_t n_labels;
	double created_unix;
	struct reading reading;
};

/* One configured function. All pointers are borrowed until collect_snapshot returns. */
struct collect_row {
	const struct plan_probe *probe;
	struct probe_status status;
	bool attached;		/* to the file of `probe`, or to one in a container */
	struct reading reading; /* zeroed while the probe has no series; the sum of the sets' */
	const struct collect_set *sets;		/* n_sets; the first is of what has no other */
	size_t n_sets;				/* 0: the target takes no labels from processes */
	const struct collect_place *old_places; /* n_old_places, besides the one of `probe` */
	size_t n_old_places;
};

/* A target whose file was replaced while it was probed, or may be. */
struct collect_target {
	const char *name;
	uint64_t upgrades;   /* how often */
	double created_unix; /* since when that is counted */
	double gap_seconds;  /* from when the present file was there to when it was probed */
	bool is_labelled;    /* takes labels from processes: */
	size_t n_label_sets, n_folded; /* sets that it has, and groups that got none */
};

struct collect_build {
	const char *version, *revision, *tier; /* tier: the kernel mechanism in use */
	const char *capabilities, *syscalls;   /* "dropped" or "kept"; "filtered" or "any" */
	const struct probe_floor *floors;      /* n_floors, measured at start */
	size_t n_floors;
};

struct collect_input {
	const struct collect_row *rows;
	size_t n_rows;
	const struct collect_target *targets;
	size_t n_targets;
	struct collect_build build;
	/* The config that was read at start counts as the first reload. */
	bool last_reload_successful;
	double last_reload_success_unix;
	double started_unix; /* when the counters of the exporter itself began */
	uint64_t map_memory_bytes;
	uint64_t unheard[UP_UNHEARD_REASONS]; /* of processes */
};

/* The caller owns the snapshot (snapshot_free). Thread-safe. */
struct snapshot *collect_snapshot(const struct collect_input *input);

#endif
