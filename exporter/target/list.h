/* All functions of a file, for people who look for something to probe. */
#ifndef TARGET_LIST_H
#define TARGET_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define LIST_MOST	 (1u << 20) /* symbols kept: 24 MiB, and as much again to sort them */
#define LIST_MOST_NAMES	 16	    /* aliases shown of one function */
#define LIST_MOST_JUDGED 32768	    /* with more functions, their code is not looked at */

struct list_function {
	uint64_t offset, size; /* size 0: the symbol has none */
	const char *bind;      /* "global", "weak", "local" */
	bool untyped;	       /* NOTYPE: a label in executable code */
	/* All names at this offset, with versions, the most telling first. */
	const char *const *names;
	size_t n_names, n_more_names;
	/* What the code shows; NULL when it was not looked at. */
	const char *entry_class; /* of the instruction that the entry probe stands on */
	const char *strategy;	 /* of `exit: auto`; NULL also when that refuses */
	const char *why;	 /* for either */
};

struct list_file {
	const char *path; /* canonical */
	bool is_library, is_go;
	bool judged;	/* the functions' code was looked at */
	bool truncated; /* the file has more than LIST_MOST symbols */
};

typedef void list_visit(void *context, const struct list_file *file,
			const struct list_function *function);

/*
 * Show every function at `path` that has a name matching the glob `pattern` (NULL: all), by
 * ascending offset. The number shown, or -errno with `err`. What the visitor gets is valid during
 * its call; what `file` (out) points to lives in the arena.
 */
long list_functions(const char *path, const char *pattern, list_visit *visit, void *context,
		    struct arena *arena, struct list_file *file, struct err *err);

#endif
