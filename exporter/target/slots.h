/*
 * What the loader puts into a file's pointers: which imported function a call through the
 * procedure linkage table or the global offset table reaches.
 *
 * Formats: gABI chapter 4 "Relocation", chapter 5 "Dynamic Section"; the machines' psABIs.
 */
#ifndef TARGET_SLOTS_H
#define TARGET_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/dynamic.h"
#include "target/image.h"

#define SLOTS_MOST (1u << 20) /* more are left out, as if nothing were known of them */
/* Relocations that are read: a sparse file says it has billions. Tables beyond are left out too. */
#define SLOTS_MOST_READ (16u << 20)

enum slot_kind {
	SLOT_UNKNOWN,
	SLOT_IMPORT,   /* `value`: index of the dynamic symbol */
	SLOT_LOCAL,    /* `value`: an address in the file */
	SLOT_RESOLVER, /* `value`: the address of the function that chooses (IFUNC) */
};

struct slot {
	uint64_t address;
	uint64_t value;
	enum slot_kind kind;
};

struct slots {
	const struct image *image; /* borrowed, as is `dynamic` */
	struct dynamic *dynamic;
	bool read;
	uint64_t n_read;      /* relocations */
	VEC(struct slot) all; /* by address */
};

void slots_init(struct slots *slots, const struct image *image, struct dynamic *dynamic);
void slots_fini(struct slots *slots);

/* What is in the pointer at `address`; the relocations are read at the first question. */
struct slot slots_find(struct slots *slots, uint64_t address);
/* The name of a SLOT_IMPORT, borrowed until the next name is read; NULL when it has none. */
const char *slots_import(struct slots *slots, const struct slot *slot);

/*
 * Whether the code at `address` is an entry of a procedure linkage table: a jump through a fixed
 * pointer, whose address `slot` gets.
 */
bool slots_is_stub(const struct slots *slots, uint64_t address, uint64_t *slot);

#endif
