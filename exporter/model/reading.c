/* What follows from a reading. */
#include "model/reading.h"

#include <stddef.h>

static uint64_t sum(const uint64_t *counts, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += counts[i];
	return total;
}

uint64_t reading_observed(const struct reading *reading)
{
	return sum(reading->cells, UP_MAX_EDGES + 1);
}

/* All of it is counters of 64 bits. */
void reading_add(struct reading *total, const struct reading *reading)
{
	const uint64_t *from = (const uint64_t *)reading;
	uint64_t *to = (uint64_t *)total;

	_Static_assert(sizeof(*reading) % sizeof(*from) == 0, "counters only");
	for (size_t i = 0; i < sizeof(*reading) / sizeof(*from); i++)
		to[i] += from[i];
}

uint64_t reading_in_flight(const struct reading *reading)
{
	uint64_t over = reading_observed(reading) + reading->ended +
			sum(reading->abandoned, UP_ABANDONED_REASONS) +
			sum(reading->lost, UP_LOST_REASONS);

	return reading->entries > over ? reading->entries - over : 0;
}
