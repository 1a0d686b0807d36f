/*
 * Names as people write them in source: C++ (Itanium ABI) and Rust. The names come from files
 * that anybody may have made, and a short mangled name can stand for an enormous text; what is
 * longer than a label or a pattern could ever use is given up.
 */
#ifndef TARGET_DEMANGLE_H
#define TARGET_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_LONGEST_NAME 4096  /* longer mangled names are left as they are */
#define DEMANGLE_LONGEST_TEXT 16384 /* longer results are given up */
#define DEMANGLE_MOST_OVERRUN 64    /* that often; then the file's names are left as they are */

/* Zeroed at first; one for each file, so that a hostile one cannot take for ever. */
struct demangler {
	char full[DEMANGLE_LONGEST_TEXT]; /* the results: valid until the next call */
	char bare[DEMANGLE_LONGEST_TEXT];
	unsigned overruns;
};

/* "shop::pay(int)" of a symbol `name` of `length` bytes; NULL when it is not a mangled one. */
const char *demangle_full(struct demangler *demangler, const char *name, size_t length);
/* "shop::pay": without parameters, return type and what compilers add; NULL as above. */
const char *demangle_bare(struct demangler *demangler, const char *name, size_t length);

#endif
