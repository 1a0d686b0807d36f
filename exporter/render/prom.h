/* Prometheus text exposition format 0.0.4. */
#ifndef RENDER_PROM_H
#define RENDER_PROM_H

#include "base/strbuf.h"
#include "model/snapshot.h"

void prom_render(const struct snapshot *snapshot, struct strbuf *out);

#endif
