/* A hash table of texts. */
#include "target/intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void intern_init(struct intern *texts, struct arena *arena)
{
	*texts = (struct intern){.arena = arena};
}

void intern_fini(struct intern *texts)
{
	free(texts->text);
	*texts = (struct intern){0};
}

/* FNV-1a. */
static size_t place_of(const struct intern *texts, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	hash ^= hash >> 32;
	size_t place = hash & (texts->room - 1);
	while (texts->text[place] && strcmp(texts->text[place], text) != 0)
		place = (place + 1) & (texts->room - 1);
	return place;
}

static void grow(struct intern *texts)
{
	const char **old = texts->text;
	size_t n = texts->room;

	texts->room = n ? 2 * n : 64;
	texts->text = alloc_zero(texts->room, sizeof(*texts->text));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			texts->text[place_of(texts, old[i])] = old[i];
	free(old);
}

const char *intern(struct intern *texts, const char *text)
{
	if (2 * (texts->n + 1) > texts->room)
		grow(texts);
	size_t place = place_of(texts, text);
	if (!texts->text[place]) {
		texts->text[place] = arena_strdup(texts->arena, text);
		texts->n++;
	}
	return texts->text[place];
}
