/*
 * What the dynamic segment of an ELF file says: the dynamic symbol and string tables as the
 * loader finds them (so that a file without section headers has them too), the needed libraries,
 * names, flags and where the symbol versions are.
 */
#ifndef TARGET_DYNAMIC_H
#define TARGET_DYNAMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "target/image.h"
#include "target/strings.h"

#define DYNAMIC_MAX_NEEDED 256

struct dynamic {
	bool present;
	bool pie;		/* DF_1_PIE */
	struct strings strings; /* empty when absent */
	uint64_t symbols_offset, n_symbols;
	uint64_t versym_offset; /* file offsets; 0 when absent */
	uint64_t verdef_offset, n_verdef;
	char *soname, *rpath, *runpath;	  /* owned; NULL when absent */
	char *needed[DYNAMIC_MAX_NEEDED]; /* owned */
	size_t n_needed;
};

/* 0 also when there is no dynamic segment; -errno with `err` when it is inconsistent. */
int dynamic_open(struct dynamic *dynamic, const struct image *image, struct err *err);
void dynamic_close(struct dynamic *dynamic);

/*
 * Whether the file is a shared library rather than a program: position-independent programs are
 * ET_DYN as well, and the C library has a PT_INTERP.
 */
bool dynamic_is_library(const struct dynamic *dynamic, const struct image *image);

#endif
