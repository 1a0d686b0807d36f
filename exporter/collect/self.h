/* What the exporter says about its own process: the process_* metrics of every Prometheus client.
 */
#ifndef COLLECT_SELF_H
#define COLLECT_SELF_H

#include "collect/builder.h"

/* Add the process_* families, read from /proc/self; what cannot be read is left out. */
void self_add(struct builder *builder);

#endif
