/*
 * Symbol versions of the dynamic symbol table: foo@V1, foo@@V2.
 *
 * Format: "ELF Symbol Versioning", LSB Core generic, chapter 10.7.
 */
#ifndef TARGET_VERSIONS_H
#define TARGET_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "target/dynamic.h"

#define VERSIONS_MOST	 4096 /* definitions in one file; the C library has about 40 */
#define VERSIONS_LONGEST 255  /* bytes in a version's name */

struct versions {
	const struct image *image; /* borrowed */
	uint64_t versym_offset;	   /* 0: no versions */
	char **name;		   /* by version index; NULL where none is defined; owned */
	size_t n;
};

/* Reads what there is; what is damaged is left out, as versions only narrow a choice. */
void versions_open(struct versions *versions, const struct image *image, struct dynamic *dynamic);
void versions_close(struct versions *versions);

/*
 * The name of the version that a value of .gnu.version stands for, and whether it is the default
 * one (@@). NULL when the symbol has none: local, unversioned, or versioned by the needed library.
 */
const char *versions_name(const struct versions *versions, uint16_t versym, bool *is_default);

#endif
