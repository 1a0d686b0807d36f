/*
 * A spec in the making: what parse.c has read, with the places in the file that check.c needs
 * for its messages.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "config/report.h"
#include "model/spec.h"

struct draft_function {
	struct spec_function spec;
	struct span place; /* its name or what it names */
	const char *key;   /* "symbol", "match", …: the key that says what it names; NULL: none */
	/* Empty when the key is not there. */
	struct span name_place, max_place, end_place, key_place;
	bool exit_set;	  /* else the defaults' is taken */
	bool buckets_set; /* the same */
	struct span buckets_place;
};

struct draft_target {
	struct spec_target spec; /* without functions */
	struct span place;	 /* its name */
	struct span labels_from_place;
	VEC(struct draft_function) functions;
};

struct draft {
	struct spec *spec; /* owned; its arena holds every string and bound */
	struct buckets buckets;
	enum exit_mode exit;
	VEC(struct draft_target) targets;
	size_t n_functions;
};

/* An empty draft with the built-in defaults, for the config file `name`. */
void draft_init(struct draft *draft, const char *name);
void draft_fini(struct draft *draft);

/* Give every function that has no `exit` or `buckets` of its own the defaults'. */
void draft_apply_defaults(struct draft *draft);
/* The finished spec, which is the caller's now. */
struct spec *draft_take_spec(struct draft *draft);

#endif
