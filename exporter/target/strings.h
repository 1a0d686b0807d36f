/*
 * A string table of an ELF file, read through a cache of small pages: a table of hundreds of
 * megabytes costs no more memory than a small one.
 */
#ifndef TARGET_STRINGS_H
#define TARGET_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "target/image.h"

/* Longer names are treated as absent; mangled C++ names of ten thousand characters exist. */
#define STRINGS_LONGEST 16384

/* A larger table is read from the file again and again unless it is read in ascending order. */
#define STRINGS_CACHE_BYTES (8u << 20)

struct strings {
	const struct image *image; /* borrowed; NULL for an empty table */
	uint64_t offset, size;
	unsigned char *pages; /* cache memory, touched only as far as used */
	uint64_t *held;	      /* number of the page + 1 in each place of the cache; 0: none */
	char *joined;	      /* a string that crosses pages */
};

/* A table at [offset, offset + size), which the caller has checked to lie in the file. */
void strings_init(struct strings *strings, const struct image *image, uint64_t offset,
		  uint64_t size);
void strings_fini(struct strings *strings);

/*
 * The string at `at`, NUL-terminated, its length in *length; borrowed until the next call. NULL
 * when it lies outside of the table, does not end in it or is longer than STRINGS_LONGEST.
 */
const char *strings_get(struct strings *strings, uint64_t at, size_t *length);

#endif
