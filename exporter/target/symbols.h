/*
 * The symbols of an ELF file, .symtab and then the dynamic ones, streamed past a visitor in one
 * pass: nothing is copied and nothing kept, so that a file with millions of symbols costs the
 * same memory as a small one.
 */
#ifndef TARGET_SYMBOLS_H
#define TARGET_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/dynamic.h"
#include "target/image.h"
#include "target/versions.h"

#define SYMBOLS_MOST (16u << 20) /* in one table; more is refused */

/* What a symbol stands for, as far as its entry alone tells. */
enum symbol_kind {
	SYMBOL_FUNCTION,
	SYMBOL_UNTYPED, /* NOTYPE: a label of assembler code, or of data */
	SYMBOL_IFUNC,
	SYMBOL_UNDEFINED,
	SYMBOL_DATA,
	SYMBOL_THREAD_LOCAL,
	SYMBOL_ABSOLUTE,
	SYMBOL_OTHER, /* sections, files */
};

/* One symbol; `name` and `version` are borrowed until the visitor returns. */
struct symbol {
	const char *name; /* `length` bytes without the version; may be followed by '@' */
	size_t length;
	const char *version; /* NUL-terminated; NULL when there is none */
	bool is_default;     /* @@, or no version at all */
	bool dynamic;	     /* from the dynamic table */
	enum symbol_kind kind;
	unsigned char bind; /* STB_* */
	uint16_t section;
	uint64_t value, size;
	uint64_t source; /* local symbols: for symbols_source(); 0 when unknown */
	uint32_t string; /* where its name stands in its string table */
	uint16_t versym; /* of a dynamic symbol: for versions_name() */
};

struct symbols {
	const struct image *image; /* borrowed, as is `dynamic` */
	struct dynamic *dynamic;
	bool has_table; /* .symtab is there: the file is not stripped */
	uint64_t offset, n;
	struct strings strings; /* of .symtab */
	struct versions versions;
};

/* -errno with `err` (REASON_BAD_ELF) when a table is inconsistent. */
int symbols_open(struct symbols *symbols, const struct image *image, struct dynamic *dynamic,
		 struct err *err);
void symbols_close(struct symbols *symbols);

typedef void symbols_visit(void *context, const struct symbol *symbol);

/* Show every named symbol to `visit`. -errno with `err` when the file cannot be read to the end. */
int symbols_each(struct symbols *symbols, symbols_visit *visit, void *context, struct err *err);
int symbols_each_dynamic(struct symbols *symbols, symbols_visit *visit, void *context,
			 struct err *err);

/* The name of the source file of a local symbol, or NULL; borrowed until the next string. */
const char *symbols_source(struct symbols *symbols, uint64_t source);

/* Whether a compiler split this name off a function: a part that is entered by a jump. */
bool symbols_is_cold(const char *name, size_t length);

#endif
