/* `buckets:` — the upper bounds of a histogram. */
#ifndef CONFIG_BUCKETS_H
#define CONFIG_BUCKETS_H

#include "base/arena.h"
#include "config/report.h"
#include "config/yaml.h"
#include "model/spec.h"

/*
 * Read a list of 1..255 ascending durations, reporting what is wrong; `buckets` (in `arena`) is
 * set when every one is right, else left alone.
 */
void buckets_read(struct report *report, struct arena *arena, const struct yaml_value *list,
		  struct buckets *buckets);

#endif
