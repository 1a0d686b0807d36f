/*
 * What a user may have meant by a name that a file does not have: forms that compilers make of
 * it (big.constprop.0), other case, C++ functions of that name, and misspellings.
 */
#ifndef TARGET_NEAREST_H
#define TARGET_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "target/symbols.h"

#define NEAREST_SHOWN	 3
#define NEAREST_VARIANTS 8
#define NEAREST_LONGEST	 255 /* names above are not compared */

struct nearest_match {
	char name[NEAREST_LONGEST + 1];
	unsigned score; /* lower is nearer */
};

struct nearest_name {
	const char *base; /* borrowed */
	size_t length;
	uint64_t letters; /* which characters occur, as bits */
	bool variants;	  /* wants the implementations of an IFUNC, not near names */
	struct nearest_match match[NEAREST_VARIANTS];
	size_t n;
};

struct nearest {
	VEC(struct nearest_name) names;
	uint64_t work; /* comparisons left */
};

void nearest_init(struct nearest *nearest);
void nearest_fini(struct nearest *nearest);

/* Look for names near `base`; or, with `variants`, for base_avx2, __base_sse2 and the like. */
size_t nearest_add(struct nearest *nearest, const char *base, size_t length, bool variants);
/* A symbols_visit: `context` is the nearest. */
void nearest_visit(void *context, const struct symbol *symbol);

/* Write "a, b or c"; nothing when there is no near name. */
void nearest_put(const struct nearest *nearest, size_t index, struct strbuf *out);

#endif
