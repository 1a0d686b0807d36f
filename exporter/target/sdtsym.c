/* Gather the names, look all of them up at once, keep the addresses. */
#include "target/sdtsym.h"

#include <stdlib.h>
#include <string.h>

#include "target/dynamic.h"
#include "target/lookup.h"
#include "target/symbols.h"

struct found {
	const char *name;
	size_t length;
	uint64_t address;
	const char *problem; /* static; NULL: the address is known */
};

struct sdt_symbols {
	struct lookup lookup; /* its tables last as long as sdtsym_read only */
	struct found *found;  /* n of them, sorted */
	size_t n;
	struct arena *arena;
};

static int by_name(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->name, b->name, a->length);
}

/* An sdtarg_symbol that only remembers what is asked for. */
static const char *gather(void *context, const char *name, size_t length, uint64_t *address)
{
	struct sdt_symbols *symbols = context;

	*address = 0;
	if (symbols->lookup.names.n < SDTSYM_MOST && !lookup_find(&symbols->lookup, name, length))
		lookup_add(&symbols->lookup, arena_strndup(symbols->arena, name, length));
	return NULL;
}

/* What a name stands for: one address, or why not. */
static const char *settle(const struct lookup_name *name, uint64_t *address)
{
	const char *problem = "is not among the file's symbols";
	bool found = false;

	for (size_t i = 0; i < name->n; i++) {
		const struct candidate *candidate = &name->candidate[i];
		if (candidate->kind == SYMBOL_UNDEFINED) {
			problem = "is in another file";
			continue;
		}
		if (candidate->kind == SYMBOL_THREAD_LOCAL)
			return "is thread-local";
		if (candidate->kind == SYMBOL_ABSOLUTE)
			return "is not an address in the file";
		if (found && candidate->value != *address)
			return "is the name of several things in the file";
		*address = candidate->value;
		found = true;
	}
	if (name->n_more)
		return "is the name of several things in the file";
	return found ? NULL : problem;
}

static bool look_up(struct sdt_symbols *wanted, const struct image *image)
{
	struct dynamic dynamic;
	struct symbols symbols;
	struct err err;

	if (dynamic_open(&dynamic, image, &err))
		return false;
	bool ok = symbols_open(&symbols, image, &dynamic, &err) == 0;
	if (ok) {
		ok = symbols_each(&symbols, lookup_visit, &wanted->lookup, &err) == 0;
		symbols_close(&symbols);
	}
	dynamic_close(&dynamic);
	return ok;
}

static void keep(struct sdt_symbols *symbols, bool readable)
{
	symbols->n = symbols->lookup.names.n;
	symbols->found = arena_array(symbols->arena, symbols->n, sizeof(*symbols->found));
	for (size_t i = 0; i < symbols->n; i++) {
		const struct lookup_name *name = &symbols->lookup.names.at[i];
		struct found *found = &symbols->found[i];
		found->name = name->base;
		found->length = strlen(name->base);
		found->problem = readable ? settle(name, &found->address)
					  : "cannot be looked up: the file's symbols are damaged";
	}
	qsort(symbols->found, symbols->n, sizeof(*symbols->found), by_name);
}

void sdtsym_read(struct sdt *sdt, const struct image *image, struct arena *arena)
{
	struct sdt_symbols *symbols = arena_alloc(arena, sizeof(*symbols));
	struct sdtarg args[SDTARG_MOST];

	sdt->symbols = symbols;
	symbols->arena = arena;
	lookup_init(&symbols->lookup, image, arena);
	for (size_t i = 0; i < sdt->n; i++) {
		struct sdtarg_site about = {
			.machine = sdt->machine,
			.address = sdt->sites[i].address,
			.fixed = sdt->fixed,
			.symbol = gather,
			.context = symbols,
		};
		sdtarg_parse(sdt->sites[i].args, &about, args, SDTARG_MOST);
	}
	if (symbols->lookup.names.n)
		keep(symbols, look_up(symbols, image));
	lookup_fini(&symbols->lookup);
}

const char *sdtsym_address(void *context, const char *name, size_t length, uint64_t *address)
{
	const struct sdt_symbols *symbols = context;
	const struct found wanted = {.name = name, .length = length}, *found = NULL;

	if (symbols->n)
		found = bsearch(&wanted, symbols->found, symbols->n, sizeof(wanted), by_name);
	if (!found)
		return "is not looked up: the notes name too many";
	*address = found->address;
	return found->problem;
}
