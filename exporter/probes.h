/*
 * The configured probes and what became of each: the one place where spec, plan, attacher and
 * readings meet. The main thread changes the table; HTTP threads take snapshots of it.
 */
#ifndef EXPORTER_PROBES_H
#define EXPORTER_PROBES_H

#include <stdbool.h>

#include "collect/collect.h"
#include "kernel/attach.h"
#include "loop.h"
#include "model/spec.h"

struct probes;

/* Resolve every probe of `spec`. All three are borrowed and must outlive the table. */
struct probes *probes_new(const struct spec *spec, struct attach *attach, struct loop *loop);
void probes_free(struct probes *probes);

/* How many probes there are, and how many of them are attached. Main thread. */
void probes_count(const struct probes *probes, size_t *attached, size_t *all);

/* The first attach pass: attach what can be attached and log each probe's outcome. */
void probes_attach(struct probes *probes);
/* Whether the first pass is done. Any thread. */
bool probes_ready(struct probes *probes);

/* Try again what is not attached and might be by now (a binary that appeared, for example). */
void probes_retry(struct probes *probes);

/*
 * Apply another config, which the table owns from now on. What is configured as before counts on
 * without a gap; what is not configured any more vanishes; the rest is attached.
 */
void probes_reload(struct probes *probes, struct spec *spec);
/* Another config was asked for and is wrong: that shows, and nothing else changes. */
void probes_reload_failed(struct probes *probes);

/* One scrape. `build` is shown as it is. The caller owns the result. Any thread. */
struct snapshot *probes_snapshot(struct probes *probes, const struct collect_build *build);

#endif
