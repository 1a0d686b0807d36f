/*
 * Mappings with known keys, as tables: which keys a mapping knows, who reads each, which are
 * required, which come with a later release. Unknown keys are named with the nearest known one.
 */
#ifndef CONFIG_FIELDS_H
#define CONFIG_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/report.h"
#include "config/yaml.h"

struct parser; /* parse.c */

struct field {
	const char *name;
	/* Read the value into the record; NULL: the key is known, but not supported yet. */
	void (*read)(struct parser *parser, const struct yaml_value *value, void *into);
	bool required;
	bool one_of; /* exactly one of the schema's keys that have this must be there */
	bool any_of; /* at least one of those that have this must be there */
	/* A key of a later release that stands in for this required one. */
	const char *instead_of;
};

#define FIELDS_MAX 32

struct schema {
	const char *what; /* "a target", for messages */
	const struct field *fields;
	size_t n; /* at most FIELDS_MAX */
};

/* Where a reader finds its way: what fields_read passes on, and all schemas, for advice. */
struct fields_context {
	struct report *report;
	struct parser *parser;
	const struct schema *const *schemas;
	size_t n_schemas;
};

/*
 * Read a mapping by its schema. Each known key's reader is
 * called once with a value that is there; missing values, unknown and missing keys are reported.
 */
void fields_read(const struct fields_context *context, const struct schema *schema,
		 const struct yaml_value *mapping, void *into);

#endif
