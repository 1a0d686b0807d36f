/*
 * Whether a function can call out of its file. What cannot leave the file during a call, by any
 * path, meets no exception, no cancellation and no switch of stacks there, whoever its callers
 * are. Answers are kept for the whole file, and each function is decoded once.
 */
#ifndef TARGET_CLOSURE_H
#define TARGET_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "target/code.h"
#include "target/functions.h"
#include "target/slots.h"

/* A closure that is larger counts as one that calls out. */
#define CLOSURE_MOST_FUNCTIONS 512
#define CLOSURE_MOST_BYTES     (1u << 20)

enum closure_state { CLOSURE_UNKNOWN, CLOSURE_CLOSED, CLOSURE_OPEN };

struct closure_node {
	uint64_t address;
	uint32_t bytes;
	uint32_t first_callee, n_callees; /* in callees[] */
	uint32_t next;	/* CLOSURE_OPEN: the node that it calls out through; CODE_NONE: by itself */
	uint32_t visit; /* of the last search that came here, and from where */
	uint32_t from;
	enum closure_state state;
	bool is_stub;	  /* of the procedure linkage table */
	bool known;	  /* the function was decoded */
	char *why;	  /* how it calls out by itself; owned, NULL when it does not */
	char *return_use; /* how it uses its return address; owned, NULL when it does not */
};

struct closure_callee {
	uint64_t address;
	bool by_jump; /* it is gone on to, with the same return address */
};

struct closure {
	const struct image *image; /* borrowed, as is `functions` */
	const struct functions *functions;
	struct slots slots;
	VEC(struct closure_node) nodes;
	VEC(struct closure_callee) callees;
	VEC(uint32_t) queue;
	uint32_t *place; /* open addressing, by address: index of a node + 1 */
	size_t n_places;
	uint32_t n_visits;
};

void closure_init(struct closure *closure, const struct functions *functions);
void closure_fini(struct closure *closure);

/* Take in a decoded function, so that it need not be decoded again. */
void closure_add(struct closure *closure, const struct code *code);

/*
 * Whether the function at `address` cannot call out. `why` gets how it does, or how many functions
 * were looked at.
 */
bool closure_is_closed(struct closure *closure, uint64_t address, struct strbuf *why);

/*
 * Whether the function at `address`, or one that it goes on to by a jump, uses the return address:
 * a text that says how, borrowed, or NULL. A return probe would do harm whoever calls it.
 */
const char *closure_return_use(struct closure *closure, uint64_t address);

/* The size of the function at `address`: its symbol's, its frame information's, or up to the next
 * symbol. 0: not known. */
uint64_t closure_size(const struct functions *functions, uint64_t address);

#endif
