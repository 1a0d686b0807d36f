/*
 * Typed scalars. Each function reads one value, reports what is wrong with it (`key` is the key
 * it belongs to, for messages) and tells whether *out was set.
 */
#ifndef CONFIG_SCALAR_H
#define CONFIG_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "config/report.h"
#include "config/yaml.h"

/*
 * Whether `value` is of this kind; if not, says that `key` must be `wanted` ("a list of …").
 * A broken value is not, in silence.
 */
bool scalar_expect(struct report *report, const char *key, const struct yaml_value *value,
		   enum yaml_kind kind, const char *wanted);

/*
 * Text of 1..max_bytes bytes without control characters. What YAML takes for a number, a
 * boolean or null when it is not in quotes is refused. *out lives as long as the tree.
 */
bool scalar_text(struct report *report, const char *key, const struct yaml_value *value,
		 size_t max_bytes, const char **out);

/* Decimal integer, low..high. */
bool scalar_integer(struct report *report, const char *key, const struct yaml_value *value,
		    uint64_t low, uint64_t high, uint64_t *out);

/* A place in a file or in memory: decimal, or hexadecimal after 0x; 0..2^63-1. */
bool scalar_place(struct report *report, const char *key, const struct yaml_value *value,
		  uint64_t *out);

/* A bucket's bound: a duration (duration.h). */
bool scalar_bound(struct report *report, const struct yaml_value *value, uint64_t *ns);

/* Another duration, up to the same 2^43 ns. */
bool scalar_duration(struct report *report, const char *key, const struct yaml_value *value,
		     uint64_t *ns);

/* One of a few words; those not supported yet stand last. */
struct choice {
	const char *name;
	int value; /* SCALAR_NOT_YET: known, but of a later release */
};
#define SCALAR_NOT_YET (-1)
bool scalar_choice(struct report *report, const char *key, const struct yaml_value *value,
		   const struct choice *choices, size_t n, int *out);

#endif
