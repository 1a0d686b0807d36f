/* Texts of an arena, each kept once: thousands of functions begin and are judged alike. */
#ifndef TARGET_INTERN_H
#define TARGET_INTERN_H

#include <stddef.h>

#include "base/arena.h"

struct intern {
	struct arena *arena; /* borrowed */
	const char **text;   /* open addressing; a power of two of them */
	size_t n, room;
};

void intern_init(struct intern *texts, struct arena *arena);
/* Release the index; the texts stay in the arena. */
void intern_fini(struct intern *texts);

/* A copy of `text` in the arena, the same for equal texts. */
const char *intern(struct intern *texts, const char *text);

#endif
