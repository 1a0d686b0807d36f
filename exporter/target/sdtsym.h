/* The symbols that the arguments of USDT sites are made of, such as "4@counter(%rip)". */
#ifndef TARGET_SDTSYM_H
#define TARGET_SDTSYM_H

#include "target/image.h"
#include "target/sdt.h"

#define SDTSYM_MOST 4096 /* different symbols in one file; others are not looked up */

/*
 * Look up what the arguments of all sites name, in one pass over the file's symbols; none when
 * they name nothing. Fills sdt->symbols, in the arena.
 */
void sdtsym_read(struct sdt *sdt, const struct image *image, struct arena *arena);

/* An sdtarg_symbol: `context` is sdt->symbols. */
const char *sdtsym_address(void *context, const char *name, size_t length, uint64_t *address);

#endif
