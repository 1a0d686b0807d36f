/* String tables: a direct-mapped cache of pages over pread. */
#include "target/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { PAGE_BYTES = 4096, PAGES = STRINGS_CACHE_BYTES / PAGE_BYTES };

void strings_init(struct strings *strings, const struct image *image, uint64_t offset,
		  uint64_t size)
{
	uint64_t pages = size / PAGE_BYTES + 1;

	memset(strings, 0, sizeof(*strings));
	strings->image = image;
	strings->offset = offset;
	strings->size = size;
	strings->pages = alloc_resize(NULL, pages < PAGES ? pages : PAGES, PAGE_BYTES);
	strings->held = alloc_zero(PAGES, sizeof(*strings->held));
}

void strings_fini(struct strings *strings)
{
	free(strings->pages);
	free(strings->held);
	free(strings->joined);
	memset(strings, 0, sizeof(*strings));
}

/* The page with this number, *length valid bytes of it; NULL when the file cannot be read. */
static const unsigned char *page_get(struct strings *strings, uint64_t number, size_t *length)
{
	size_t place = number % PAGES;
	unsigned char *bytes = strings->pages + place * PAGE_BYTES;
	uint64_t start = number * PAGE_BYTES, left = strings->size - start;

	*length = left < PAGE_BYTES ? left : PAGE_BYTES;
	if (strings->held[place] == number + 1)
		return bytes;
	strings->held[place] = 0;
	if (image_read(strings->image, strings->offset + start, bytes, *length))
		return NULL;
	strings->held[place] = number + 1;
	return bytes;
}

/* A string that does not end in the page where it begins. */
static const char *join(struct strings *strings, uint64_t at, size_t *length)
{
	size_t n = 0;

	if (!strings->joined)
		strings->joined = alloc_resize(NULL, STRINGS_LONGEST + 1, 1);
	while (at < strings->size && n < STRINGS_LONGEST) {
		size_t valid, from = at % PAGE_BYTES;
		const unsigned char *bytes = page_get(strings, at / PAGE_BYTES, &valid);
		if (!bytes)
			return NULL;
		size_t part = valid - from;
		if (part > STRINGS_LONGEST + 1 - n)
			part = STRINGS_LONGEST + 1 - n;
		const unsigned char *end = memchr(bytes + from, '\0', part);
		if (end)
			part = (size_t)(end - (bytes + from));
		memcpy(strings->joined + n, bytes + from, part);
		n += part;
		if (end) {
			strings->joined[n] = '\0';
			*length = n;
			return strings->joined;
		}
		at += part;
	}
	return NULL;
}

const char *strings_get(struct strings *strings, uint64_t at, size_t *length)
{
	size_t valid, from = at % PAGE_BYTES;

	if (!strings->image || at >= strings->size)
		return NULL;
	const unsigned char *bytes = page_get(strings, at / PAGE_BYTES, &valid);
	if (!bytes)
		return NULL;
	const unsigned char *end = memchr(bytes + from, '\0', valid - from);
	if (!end)
		return join(strings, at, length);
	*length = (size_t)(end - (bytes + from));
	return (const char *)bytes + from;
}
