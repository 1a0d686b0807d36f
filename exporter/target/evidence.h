/*
 * What a file shows about how its functions are left: whether anything could unwind a stack or
 * switch stacks through them, which a return probe does not survive. The judgement is about the
 * file as a whole; it is made from names, needed libraries and frame information.
 */
#ifndef TARGET_EVIDENCE_H
#define TARGET_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "target/dynamic.h"
#include "target/image.h"
#include "target/symbols.h"

struct evidence {
	bool go;	   /* holds Go code: its stacks move */
	bool safe;	   /* `exit: auto` may use return probes */
	bool altstack;	   /* it lets signals run on another stack */
	struct strbuf why; /* the evidence, for either answer */

	/* While it is gathered. */
	bool dynamic_linked, stripped, is_library;
	uint64_t seen;	  /* rows of the tables already noted */
	size_t n_against; /* noted in `why` */
};

void evidence_init(struct evidence *evidence, const struct image *image,
		   const struct symbols *symbols);
void evidence_fini(struct evidence *evidence);
/* A symbols_visit: `context` is the evidence. */
void evidence_visit(void *context, const struct symbol *symbol);
/* Once all symbols were seen: judge. */
void evidence_conclude(struct evidence *evidence, const struct image *image,
		       const struct dynamic *dynamic);

#endif
