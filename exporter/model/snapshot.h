/*
 * The snapshot: everything one scrape shows, as families → series → values. Built once per
 * scrape by collect/, read by every renderer, changed by nobody after. Families are contiguous
 * and their order, and that of labels, is stable. Everything lives in the snapshot's arena.
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_INFO, FAMILY_HISTOGRAM };

struct label {
	const char *name, *value; /* the value is valid UTF-8, not yet escaped */
};

/* Native (exponential) buckets, schema 3: counts of the non-empty buckets, ascending index. */
struct native_bucket {
	int index; /* Prometheus numbering; OTLP's is one less */
	uint64_t count;
};

struct histogram {
	uint64_t count; /* == sum of `bucket` == zero_count + sum of native counts */
	uint64_t sum_ns;
	const uint64_t *bound_ns; /* n_bounds upper bounds, inclusive, ascending */
	const uint64_t
		*bucket; /* n_bounds + 1 counts, not cumulative; the last is above all bounds */
	size_t n_bounds;
	uint64_t zero_count; /* observations of exactly 0 */
	const struct native_bucket *native;
	size_t n_native;
};

struct value {
	enum {
		VALUE_U64,
		VALUE_DOUBLE,
		VALUE_NS
	} kind; /* VALUE_NS: `u64` nanoseconds shown as seconds */
	union {
		uint64_t u64;
		double f64;
	};
};

struct series {
	const struct label *labels;
	size_t n_labels;
	struct value value;		   /* all types but histograms */
	const struct histogram *histogram; /* FAMILY_HISTOGRAM only */
	double created_unix; /* counters and histograms: when the series began; 0 unknown */
};

struct family {
	const char *name; /* full Prometheus text name: counters end in _total, infos in _info */
	const char *help;
	const char *unit; /* "seconds", "bytes" or NULL; then the name (less _total) ends with it */
	enum family_type type;
	const struct series *series;
	size_t n_series;
};

struct snapshot {
	struct arena arena;
	const struct family *families;
	size_t n_families;
};

void snapshot_free(struct snapshot *snapshot);

#endif
