/*
 * The series of one set of labels: a probe's calls by the set's processes are counted in it instead
 * of in the probe's own. For label_sets.c.
 */
#ifndef EXPORTER_LABEL_SERIES_H
#define EXPORTER_LABEL_SERIES_H

#include "label_sets.h"

/* The set's series that stands in for `of`; NULL when it has none. */
const struct label_series *label_series_find(const struct label_set *set, int of);

/* Lead a group of the set to one of its series. */
void label_series_put(struct probes *probes, struct target *target, struct label_group *group,
		      const struct label_series *series);

/* Keep calls away from one of a set's series. */
void label_series_cut(struct probes *probes, const struct label_set *set,
		      const struct label_series *series);

/* Give back a set's series number `at`, which no call leads to any more. Under the locks. */
void label_series_end(struct probes *probes, struct label_set *set, size_t at);

/* Say why calls of a target count as `other`: once, until there was room for all again. */
void label_series_no_room(struct target *target, const char *why);

#endif
