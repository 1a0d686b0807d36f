/*
 * An arena: many small allocations that live and die together, such as a spec, a plan or a
 * snapshot. Memory is zeroed. Allocation failure ends the program with a message (status 1):
 * the sizes are bounded by the config's limits, so there is nothing a caller could do.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes; /* what callers asked for, in all */
};

void arena_init(struct arena *arena);
void arena_fini(struct arena *arena);

/* Zeroed, aligned for any type; lives until arena_fini. `size` 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size);
/* As arena_alloc for `count` items of `size` bytes; an overflow ends the program. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
