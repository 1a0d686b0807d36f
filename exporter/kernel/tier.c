/* Names of the tiers. */
#include "kernel/tier.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const tier_names[] = {"auto", "session", "multi", "perf"};

const char *tier_name(enum tier tier)
{
	return tier_names[tier];
}

int tier_parse(const char *name, enum tier *tier)
{
	for (size_t i = 0; i < sizeof(tier_names) / sizeof(*tier_names); i++) {
		if (!strcmp(name, tier_names[i])) {
			*tier = (enum tier)i;
			return 0;
		}
	}
	return -EINVAL;
}
