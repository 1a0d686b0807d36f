/*
 * What a file shows about how its functions are left: whether anything could unwind a stack or
 * switch stacks through them, which a return probe does not survive. The judgement is about the
 * file as a whole; it is made from names, frame information, code, and what else is in the process.
 */
#ifndef TARGET_EVIDENCE_H
#define TARGET_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "target/dynamic.h"
#include "target/functions.h"
#include "target/image.h"
#include "target/symbols.h"

struct evidence {
	bool go;	   /* holds Go code: its stacks move */
	bool safe;	   /* `exit: auto` may use return probes */
	bool altstack;	   /* it lets signals run on another stack */
	struct strbuf why; /* the evidence, for either answer */

	/* While it is gathered. */
	bool dynamic_linked, stripped, is_library;
	bool opens_plugins, jumps; /* it imports dlopen, longjmp */
	size_t n_exported;	   /* functions, for others to call */
	uint64_t seen;		   /* rows of the tables already noted */
	size_t n_against;	   /* noted in `why` */
};

void evidence_init(struct evidence *evidence, const struct image *image,
		   const struct symbols *symbols);
void evidence_fini(struct evidence *evidence);
/* A symbols_visit: `context` is the evidence. */
void evidence_visit(void *context, const struct symbol *symbol);
/*
 * Once all symbols were seen: judge, also by the code, by what the program needs, and by what the
 * processes that run it now have mapped. `functions` are sorted.
 */
void evidence_conclude(struct evidence *evidence, const struct image *image,
		       const struct dynamic *dynamic, const struct functions *functions);

/*
 * What a function does that endangers the frames of a program when a library that the program
 * needs imports it; NULL: nothing. Static.
 */
const char *evidence_of_import(const char *name, size_t length);

#endif
