/*
 * YAML text as a tree of values with positions, strict where YAML is loose: one document, no
 * tags, no merge keys, no duplicate keys, bounded nesting and aliases, clean UTF-8 only.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "config/report.h"

#define YAML_MAX_BYTES	  ((size_t)1 << 20)
#define YAML_MAX_NESTING  16	/* collections within collections, aliases followed */
#define YAML_MAX_ANCHORS  256	/* `&name` in one file */
#define YAML_MAX_ALIASES  1024	/* `*name` in one file */
#define YAML_MAX_EXPANDED 65536 /* values that all aliases of a file stand for */

enum yaml_kind {
	YAML_BROKEN, /* a fault here is already reported: skip it in silence */
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAPPING,
};

struct yaml_pair;

struct yaml_value {
	enum yaml_kind kind;
	struct span span; /* where it stands; an alias is the place of use, its parts are not */
	bool quoted;	  /* scalar in quotes or a block (`|`, `>`): text, whatever it looks like */
	const char *text; /* scalar: valid UTF-8 */
	size_t n;	  /* items or pairs */
	const struct yaml_value *const *items;
	const struct yaml_pair *pairs; /* keys are scalars and differ */
	size_t expanded;	       /* values within, itself included, aliases followed */
	int height;		       /* collections from here down, aliases followed */
};

struct yaml_pair {
	const struct yaml_value *key, *value;
};

struct yaml_tree {
	struct arena arena;
	const struct yaml_value *root;
};

/*
 * Read the report's text. 0: `tree` is complete, though faults that do not hide others may have
 * been reported (a duplicate key is left out of the tree, for one). -EINVAL: the text cannot be
 * read to its end; reported. Call yaml_tree_fini in either case.
 */
int yaml_tree_read(struct yaml_tree *tree, struct report *report);
void yaml_tree_fini(struct yaml_tree *tree);

/* "a mapping", "a list", "`text`" (in `room`, as QUOTE): what a value is, for messages. */
const char *yaml_describe(char *room, const struct yaml_value *value);
/* Whether it is a plain scalar of no length: `key:` with nothing behind it. */
bool yaml_is_missing(const struct yaml_value *value);

#endif
