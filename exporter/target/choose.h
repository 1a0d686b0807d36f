/* Which of the symbols that have a wanted name is meant. */
#ifndef TARGET_CHOOSE_H
#define TARGET_CHOOSE_H

#include "base/err.h"
#include "target/lookup.h"

struct choice {
	enum reason reason; /* REASON_NONE: `candidate` is meant */
	const struct candidate *candidate;
	const char *symbol;  /* the full name, with version; in the arena */
	const char *detail;  /* why not; in the arena */
	const char *warning; /* NULL when there is none */
};

/* What there is to say of a function by its name alone; NULL: nothing. Static. */
const char *choose_name_warning(const char *symbol);

/*
 * Decide which function `text` (name, name@VERSION or name@@VERSION) means. Rules: without a
 * version the default one is meant, or the only one; aliases at one offset are one function;
 * several functions of one name are ambiguous, a global one among local ones too, since nobody
 * can tell which was meant. REASON_SYMBOL_NOT_FOUND, REASON_SYMBOL_UNDEFINED and REASON_IFUNC
 * come without `detail`: their callers know more.
 */
void choose_function(const struct lookup *lookup, const struct lookup_name *name, const char *text,
		     struct symbols *symbols, struct choice *choice);

#endif
