/*
 * Finding the library that defines an imported name: the needed libraries, breadth first as the
 * loader takes them, each searched for where the loader would.
 */
#ifndef TARGET_NEEDED_H
#define TARGET_NEEDED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "target/dynamic.h"
#include "target/image.h"

#define NEEDED_MOST 128 /* libraries looked at for one file */

struct needed_import {
	const char *name;    /* each once; a version after it is ignored; borrowed */
	const char *library; /* out: path of the library that defines it; NULL when none does */
};

/*
 * Fill `library` of each import of the file at `path`, whose dynamic segment is `dynamic`. Paths
 * live in the arena. Libraries that cannot be found or read are passed over.
 */
void needed_find(const char *path, const struct dynamic *dynamic, struct needed_import *imports,
		 size_t n, struct arena *arena);

/* A library that the loader would load; valid during the call. Returns whether to go on. */
typedef bool needed_visit(void *context, const char *path, const struct image *image,
			  struct dynamic *dynamic);

/* Show the libraries that the file at `path` needs, directly or not, in the loader's order. */
void needed_each(const char *path, const struct dynamic *dynamic, needed_visit *visit,
		 void *context, struct arena *arena);

#endif
