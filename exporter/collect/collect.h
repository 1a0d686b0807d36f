/*
 * Rows become a snapshot: readings of the kernel's counters, what became of each probe, and the
 * exporter's own state, as metric families. The contract of names and labels is docs/metrics.md.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/floor.h"
#include "model/plan.h"
#include "model/reading.h"
#include "model/snapshot.h"
#include "model/status.h"

/* One configured function. All pointers are borrowed until collect_snapshot returns. */
struct collect_row {
	const struct plan_probe *probe;
	struct probe_status status;
	struct reading reading; /* zeroed while the probe has no series */
};

struct collect_build {
	const char *version, *revision, *tier; /* tier: the kernel mechanism in use */
	const struct probe_floor *floors;      /* n_floors, measured at start */
	size_t n_floors;
};

struct collect_input {
	const struct collect_row *rows;
	size_t n_rows;
	struct collect_build build;
	/* NAN while there was no (successful) reload: until reload exists, the start counts. */
	bool last_reload_successful;
	double last_reload_success_unix;
	uint64_t map_memory_bytes;
};

/* The caller owns the snapshot (snapshot_free). Thread-safe. */
struct snapshot *collect_snapshot(const struct collect_input *input);

#endif
