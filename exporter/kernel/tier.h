/* Which kernel mechanism pairs a call's entry and exit; see ARCHITECTURE.md. */
#ifndef KERNEL_TIER_H
#define KERNEL_TIER_H

enum tier { TIER_AUTO, TIER_SESSION, TIER_MULTI, TIER_PERF };

/* "auto", "session", "multi", "perf". */
const char *tier_name(enum tier tier);
/* -EINVAL for an unknown name. */
int tier_parse(const char *name, enum tier *tier);

#endif
