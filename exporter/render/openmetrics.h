/* OpenMetrics text format 1.0. */
#ifndef RENDER_OPENMETRICS_H
#define RENDER_OPENMETRICS_H

#include "base/strbuf.h"
#include "model/snapshot.h"

void openmetrics_render(const struct snapshot *snapshot, struct strbuf *out);

#endif
