/* Wanted names and the symbols that have them. */
#include "target/lookup.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void lookup_init(struct lookup *lookup, const struct image *image, struct arena *arena)
{
	memset(lookup, 0, sizeof(*lookup));
	lookup->image = image;
	lookup->arena = arena;
}

void lookup_fini(struct lookup *lookup)
{
	vec_fini(&lookup->names);
	free(lookup->slot);
	memset(lookup, 0, sizeof(*lookup));
}

size_t lookup_base_length(const char *text)
{
	const char *at = strchr(text, '@');

	return at && at != text ? (size_t)(at - text) : strlen(text);
}

/* FNV-1a, 64 bits, folded for the low bits. */
static uint64_t hash_of(const char *name, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

static size_t slot_of(const struct lookup *lookup, const char *name, size_t length, uint64_t hash)
{
	size_t at = hash & (lookup->n_slots - 1);

	for (; lookup->slot[at]; at = (at + 1) & (lookup->n_slots - 1)) {
		const struct lookup_name *held = &lookup->names.at[lookup->slot[at] - 1];
		if (held->hash == hash && held->length == length &&
		    memcmp(held->base, name, length) == 0)
			break;
	}
	return at;
}

static void grow(struct lookup *lookup)
{
	lookup->n_slots = lookup->n_slots ? 2 * lookup->n_slots : 64;
	free(lookup->slot);
	lookup->slot = alloc_zero(lookup->n_slots, sizeof(*lookup->slot));
	for (size_t i = 0; i < lookup->names.n; i++) {
		const struct lookup_name *name = &lookup->names.at[i];
		lookup->slot[slot_of(lookup, name->base, name->length, name->hash)] =
			(uint32_t)i + 1;
	}
}

size_t lookup_add(struct lookup *lookup, const char *text)
{
	size_t length = lookup_base_length(text);
	uint64_t hash = hash_of(text, length);

	if (2 * (lookup->names.n + 1) > lookup->n_slots)
		grow(lookup);
	size_t at = slot_of(lookup, text, length, hash);
	if (lookup->slot[at])
		return lookup->slot[at] - 1;
	struct lookup_name *name = vec_push(&lookup->names);
	name->base = text;
	name->length = length;
	name->hash = hash;
	lookup->slot[at] = (uint32_t)lookup->names.n;
	return lookup->names.n - 1;
}

struct lookup_name *lookup_find(const struct lookup *lookup, const char *base, size_t length)
{
	if (!lookup->n_slots)
		return NULL;
	size_t at = slot_of(lookup, base, length, hash_of(base, length));
	return lookup->slot[at] ? &lookup->names.at[lookup->slot[at] - 1] : NULL;
}

/* A label without a type may name data beside code in one segment: there its section tells. */
static bool is_data_label(const struct image *image, const struct symbol *symbol)
{
	return symbol->kind == SYMBOL_UNTYPED && symbol->section < image->n_shdr &&
	       !(image->shdr[symbol->section].sh_flags & SHF_EXECINSTR);
}

void lookup_place(const struct image *image, const struct symbol *symbol,
		  struct candidate *candidate)
{
	uint64_t room;

	candidate->is_code = false;
	candidate->size = symbol->size;
	if (symbol->kind > SYMBOL_IFUNC || is_data_label(image, symbol) ||
	    !image_code_offset(image, symbol->value, &candidate->offset, &room))
		return;
	candidate->is_code = true;
	candidate->is_clipped = symbol->size > room;
	if (candidate->is_clipped)
		candidate->size = room;
}

static bool same_version(const struct candidate *held, const struct symbol *symbol)
{
	return !held->version || !symbol->version || strcmp(held->version, symbol->version) == 0;
}

/* The same symbol seen again, in the other table or as an alias of the same name. */
static bool merge(struct lookup *lookup, struct lookup_name *name, const struct symbol *symbol)
{
	for (size_t i = 0; i < name->n; i++) {
		struct candidate *held = &name->candidate[i];
		if (held->kind != symbol->kind || held->value != symbol->value ||
		    !same_version(held, symbol))
			continue;
		if (!held->version && symbol->version) {
			held->version = arena_strdup(lookup->arena, symbol->version);
			held->is_default = symbol->is_default;
		}
		if (held->size == 0)
			held->size = symbol->size;
		return true;
	}
	return false;
}

void lookup_visit(void *context, const struct symbol *symbol)
{
	struct lookup *lookup = context;
	struct lookup_name *name = lookup_find(lookup, symbol->name, symbol->length);

	if (!name || symbol->kind == SYMBOL_OTHER || merge(lookup, name, symbol))
		return;
	if (name->n == LOOKUP_CANDIDATES) {
		name->n_more++;
		return;
	}
	if (!name->candidate)
		name->candidate =
			arena_array(lookup->arena, LOOKUP_CANDIDATES, sizeof(struct candidate));
	struct candidate *candidate = &name->candidate[name->n++];
	*candidate = (struct candidate){
		.kind = symbol->kind,
		.is_default = symbol->is_default,
		.bind = symbol->bind,
		.value = symbol->value,
		.source = symbol->source,
	};
	if (symbol->version)
		candidate->version = arena_strdup(lookup->arena, symbol->version);
	lookup_place(lookup->image, symbol, candidate);
}
