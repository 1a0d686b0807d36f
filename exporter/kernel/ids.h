/*
 * Numbers to be given out and taken back in runs: the ids of probe records. One that was given
 * back is not given out again before all others had their turn, since calls that were open then
 * still name it.
 */
#ifndef KERNEL_IDS_H
#define KERNEL_IDS_H

#include <stdint.h>

struct ids {
	uint8_t *taken; /* `n` flags; owned */
	uint32_t n, next;
};

void ids_init(struct ids *ids, uint32_t n);
void ids_fini(struct ids *ids);

/* `count` numbers in a row, at least one: the first, or -ENOSPC. */
int ids_take(struct ids *ids, uint32_t count);
/* The same with the lowest numbers that there are, for what should stay close together. */
int ids_take_low(struct ids *ids, uint32_t count);
void ids_give(struct ids *ids, uint32_t first, uint32_t count);

#endif
