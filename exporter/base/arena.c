/* A chain of malloc'ed blocks, bumped from the front; large requests get a block of their own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK_BYTES = 16 * 1024, ALIGN = _Alignof(max_align_t) };

struct arena_block {
	struct arena_block *next;
	size_t used, room;
	_Alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *arena)
{
	memset(arena, 0, sizeof(*arena));
}

void arena_fini(struct arena *arena)
{
	while (arena->head) {
		struct arena_block *next = arena->head->next;
		free(arena->head);
		arena->head = next;
	}
	arena->used_bytes = 0;
}

static struct arena_block *block_for(struct arena *arena, size_t size)
{
	struct arena_block *head = arena->head;

	if (head && head->room - head->used >= size)
		return head;
	size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct arena_block *block = alloc_zero(1, sizeof(*block) + room);
	block->room = room;
	block->next = head;
	arena->head = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		alloc_failed();
	size_t padded = (size + ALIGN - 1) / ALIGN * ALIGN;
	struct arena_block *block = block_for(arena, padded);
	void *bytes = block->bytes + block->used;
	block->used += padded;
	arena->used_bytes += size;
	return bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		alloc_failed();
	return arena_alloc(arena, bytes);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);
	memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0)
		alloc_failed();
	char *text = arena_alloc(arena, (size_t)length + 1);
	va_start(args, fmt);
	vsnprintf(text, (size_t)length + 1, fmt, args);
	va_end(args);
	return text;
}
