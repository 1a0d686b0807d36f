/* The families of what is configured: functions and USDT probes. */
#ifndef COLLECT_FAMILIES_H
#define COLLECT_FAMILIES_H

#include "collect/builder.h"
#include "collect/collect.h"

void families_add(struct builder *builder, const struct collect_input *input);

#endif
