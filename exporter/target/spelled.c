/* One pass over the symbols for all names that were not found; none when there is no such name. */
#include "target/spelled.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/choose.h"
#include "target/demangle.h"
#include "target/image.h"
#include "target/lookup.h"

#define KEPT 8 /* meanings of one name that are listed */

struct meaning {
	const char *symbol, *full; /* in the arena */
	uint64_t offset, address, size;
};

/* The functions that a name stands for, each offset once. */
struct meanings {
	struct meaning kept[KEPT];
	size_t n;
};

struct name {
	struct meanings exact, bare;
};

struct search {
	const struct image *image;
	struct arena *arena;
	struct lookup lookup;	/* only its hash table */
	VEC(struct name) names; /* one for each of lookup.names */
	struct demangler demangler;
};

static void add(struct search *search, struct meanings *meanings, const struct symbol *symbol,
		const struct candidate *place, const char *full)
{
	for (size_t i = 0; i < meanings->n && i < KEPT; i++)
		if (meanings->kept[i].offset == place->offset)
			return;
	if (meanings->n++ >= KEPT)
		return;
	struct meaning *meaning = &meanings->kept[meanings->n - 1];
	meaning->symbol = symbol->version
				  ? arena_printf(search->arena, "%.*s@@%s", (int)symbol->length,
						 symbol->name, symbol->version)
				  : arena_strndup(search->arena, symbol->name, symbol->length);
	meaning->full = arena_strdup(search->arena, full);
	meaning->offset = place->offset;
	meaning->address = symbol->value;
	meaning->size = place->size;
}

static struct name *find(struct search *search, const char *text)
{
	struct lookup_name *found = lookup_find(&search->lookup, text, strlen(text));

	return found ? &search->names.at[found - search->lookup.names.at] : NULL;
}

static void visit(void *context, const struct symbol *symbol)
{
	struct search *search = context;
	struct candidate place;
	struct name *name;

	if (symbol->kind != SYMBOL_FUNCTION || !symbol->is_default ||
	    symbols_is_cold(symbol->name, symbol->length))
		return;
	const char *full = demangle_full(&search->demangler, symbol->name, symbol->length);
	if (!full)
		return;
	lookup_place(search->image, symbol, &place);
	if (!place.is_code)
		return;
	name = find(search, full);
	if (name)
		add(search, &name->exact, symbol, &place, full);
	if (memchr(symbol->name, '.', symbol->length)) /* a clone: by its full name only */
		return;
	const char *bare = demangle_bare(&search->demangler, symbol->name, symbol->length);
	name = bare ? find(search, bare) : NULL;
	if (name)
		add(search, &name->bare, symbol, &place, full);
}

static const char *ambiguous_text(struct arena *arena, const char *text,
				  const struct meanings *meanings, bool exact)
{
	struct strbuf out;

	strbuf_init(&out);
	strbuf_printf(&out, "%.300s is the name of %zu functions: ", text, meanings->n);
	for (size_t i = 0; i < meanings->n && i < KEPT; i++)
		strbuf_printf(&out, "%s%.300s (offset 0x%" PRIx64 ")", i ? "; " : "",
			      exact ? meanings->kept[i].symbol : meanings->kept[i].full,
			      meanings->kept[i].offset);
	if (meanings->n > KEPT)
		strbuf_printf(&out, "; and %zu more", meanings->n - KEPT);
	strbuf_puts(&out, exact ? ": write the symbol of the one that is meant"
				: ": write the one that is meant with its parameters");
	const char *copy = arena_strdup(arena, strbuf_text(&out));
	strbuf_fini(&out);
	return copy;
}

static void settle(struct arena *arena, const struct name *name, struct inspect_wanted *wanted)
{
	bool exact = name->exact.n > 0;
	const struct meanings *meanings = exact ? &name->exact : &name->bare;

	if (meanings->n > 1) {
		wanted->reason = REASON_SYMBOL_AMBIGUOUS;
		wanted->detail = ambiguous_text(arena, wanted->text, meanings, exact);
	} else if (meanings->n == 1) {
		const struct meaning *meaning = &meanings->kept[0];
		wanted->reason = REASON_NONE;
		wanted->symbol = meaning->symbol;
		wanted->offset = meaning->offset;
		wanted->address = meaning->address;
		wanted->size = meaning->size;
		wanted->warning = choose_name_warning(meaning->symbol);
	}
}

static bool is_sought(const struct inspect_wanted *wanted)
{
	return wanted->reason == REASON_SYMBOL_NOT_FOUND && !wanted->detail && !wanted->pattern;
}

void spelled_find(struct symbols *symbols, struct inspect_wanted *wanted, size_t n,
		  struct arena *arena)
{
	struct search search = {.image = symbols->image, .arena = arena};
	_cleanup_free_ size_t *name = alloc_zero(n, sizeof(*name));
	struct err err;

	lookup_init(&search.lookup, symbols->image, arena);
	for (size_t i = 0; i < n; i++)
		if (is_sought(&wanted[i]))
			name[i] = lookup_add(&search.lookup, wanted[i].text);
	while (search.names.n < search.lookup.names.n)
		vec_push(&search.names);
	if (search.names.n && symbols_each(symbols, visit, &search, &err) == 0)
		for (size_t i = 0; i < n; i++)
			if (is_sought(&wanted[i]))
				settle(arena, &search.names.at[name[i]], &wanted[i]);
	vec_fini(&search.names);
	lookup_fini(&search.lookup);
}
