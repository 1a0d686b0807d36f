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

uint64_t reading_in_flight(const struct reading *reading)
{
	uint64_t over = sum(reading->cells, UP_MAX_EDGES + 1) +
			sum(reading->abandoned, UP_ABANDONED_REASONS) +
			sum(reading->lost, UP_LOST_REASONS);

	return reading->entries > over ? reading->entries - over : 0;
}
