/* `labels:` — constant labels of a function's series. */
#ifndef CONFIG_LABELS_H
#define CONFIG_LABELS_H

#include <stddef.h>

#include "base/arena.h"
#include "config/report.h"
#include "config/yaml.h"
#include "model/spec.h"

#define LABELS_MAX	      32 /* a function */
#define LABELS_MAX_NAME_BYTES 128
#define LABELS_MAX_TEXT_BYTES 1024 /* of a label's value, a target's or a function's name */

/*
 * Read a mapping of label names to values, reporting what is wrong. *labels (in `arena`) are in
 * the order of their names.
 */
void labels_read(struct report *report, struct arena *arena, const struct yaml_value *mapping,
		 const struct spec_label **labels, size_t *n_labels);

#endif
