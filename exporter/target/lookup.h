/*
 * Looking up many names in one pass over a file's symbols: the wanted names are a hash table,
 * and each symbol that has one of them becomes a candidate. Which candidate is meant is then
 * decided by choose_function (choose.h).
 */
#ifndef TARGET_LOOKUP_H
#define TARGET_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "target/symbols.h"

#define LOOKUP_CANDIDATES 32 /* kept for one name; more are only counted */

/* One meaning of a name. */
struct candidate {
	enum symbol_kind kind;
	bool is_code; /* lies in the file part of an executable segment, at `offset` */
	bool is_default;
	bool is_clipped; /* its size reached beyond the segment and was cut to it */
	unsigned char bind;
	uint64_t value, offset, size;
	const char *version; /* in the arena; NULL when there is none */
	uint64_t source;     /* for symbols_source() */
};

struct lookup_name {
	const char *base; /* as written up to a version; `length` bytes, borrowed */
	size_t length;
	uint64_t hash;
	struct candidate *candidate;
	size_t n, n_more;
};

struct lookup {
	const struct image *image; /* borrowed, as is `arena` */
	struct arena *arena;
	VEC(struct lookup_name) names;
	uint32_t *slot; /* open addressing: index of a name + 1; a power of two of them */
	size_t n_slots;
};

void lookup_init(struct lookup *lookup, const struct image *image, struct arena *arena);
void lookup_fini(struct lookup *lookup);

/* Want the name `text`, which must outlive the lookup; the index of its entry in `names`. */
size_t lookup_add(struct lookup *lookup, const char *text);
/* The entry of a name, or NULL when it is not wanted. */
struct lookup_name *lookup_find(const struct lookup *lookup, const char *base, size_t length);
/* A symbols_visit: `context` is the lookup. */
void lookup_visit(void *context, const struct symbol *symbol);

/* Where a symbol is: fills is_code, offset, size and is_clipped of `candidate`. */
void lookup_place(const struct image *image, const struct symbol *symbol,
		  struct candidate *candidate);

/* The length of `text` without its version. */
size_t lookup_base_length(const char *text);

#endif
