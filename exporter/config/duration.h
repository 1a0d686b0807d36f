/* Durations as people write them: a number and a unit, exact to the nanosecond. */
#ifndef CONFIG_DURATION_H
#define CONFIG_DURATION_H

#include <stdint.h>

/* The longest duration: 2^43 ns (2h26m36.09s), where histogram cells end (design 5.5). */
#define DURATION_MAX_NS ((uint64_t)1 << 43)

enum duration_fault {
	DURATION_OK,
	DURATION_NOT_ONE, /* neither number nor unit */
	DURATION_NO_UNIT,
	DURATION_BAD_UNIT,
	DURATION_INFINITE,
	DURATION_NAN,
	DURATION_NEGATIVE,
	DURATION_ZERO,
	DURATION_FRACTION, /* not a whole number of nanoseconds */
	DURATION_TOO_LONG,
};

/*
 * `text` such as 100ns, 2.5us, 2.5µs, 1ms, 3s, 5m, 1h; no blanks, no sign, no exponent. Computed
 * with integers: 0.1us is exactly 100 ns. *ns is set on DURATION_OK only.
 */
enum duration_fault duration_parse(const char *text, uint64_t *ns);

#endif
