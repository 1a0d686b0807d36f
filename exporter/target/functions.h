/*
 * Where a file's functions begin, as its symbols tell: one record an address, sorted. Gathered in
 * the same pass over the symbols as everything else; names are read again only when asked for.
 */
#ifndef TARGET_FUNCTIONS_H
#define TARGET_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/symbols.h"

/* More are left out: 24 MiB, and as much again to sort them. */
#define FUNCTIONS_MOST	    (1u << 20)
#define FUNCTIONS_NAME_ROOM 128

struct function {
	uint64_t address; /* virtual */
	uint32_t size;	  /* 0 where the symbol has none; UINT32_MAX: at least that */
	uint32_t string;  /* where its name stands */
	bool dynamic;	  /* in the dynamic string table */
	uint8_t rank;	  /* of the name among those of the address: lower tells more */
};

struct functions {
	struct symbols *symbols; /* borrowed */
	VEC(struct function) all;
	uint64_t *addresses; /* all.n of them, ascending; owned */
};

void functions_init(struct functions *functions, struct symbols *symbols);
void functions_fini(struct functions *functions);
/* A symbols_visit: `context` is the functions. Parts split off (.cold) are passed over. */
void functions_visit(void *context, const struct symbol *symbol);
/* Once all symbols were seen. */
void functions_sort(struct functions *functions);

/* The function that begins at `address`, or NULL. */
const struct function *functions_at(const struct functions *functions, uint64_t address);
/*
 * The function that `address` lies in, as the size of its symbol tells, or that begins there; no
 * label is taken for one. NULL when there is none.
 */
const struct function *functions_covering(const struct functions *functions, uint64_t address);
/* The first address after `address` where one begins; 0: none. */
uint64_t functions_next(const struct functions *functions, uint64_t address);
/* The name at `address`, cut to the room; "0x…" when there is none. */
const char *functions_name(const struct functions *functions, uint64_t address,
			   char name[FUNCTIONS_NAME_ROOM]);

#endif
