/*
 * Expansion is one pass over the symbols, which keeps a small record (no name) of each that some
 * pattern matches; names are read again for the few that are kept.
 */
#include "target/expand.h"

#include <string.h>

#include "base/glob.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/choose.h"
#include "target/demangle.h"
#include "target/dynamic.h"
#include "target/functions.h"
#include "target/image.h"
#include "target/lookup.h"
#include "target/place.h"
#include "target/symbols.h"

/* Of all patterns of one file together; 160 MiB. One that needs more is refused. */
#define MOST_RECORDS  (4u << 20)
#define SHOWN_ALIASES 3

/* A symbol that a pattern matches. */
struct record {
	uint64_t offset, address;
	uint32_t size;	 /* UINT32_MAX: at least that */
	uint32_t length; /* of its name */
	uint32_t string;
	uint32_t source;  /* 0: none */
	uint32_t pattern; /* index of the expansion */
	uint16_t versym;
	bool dynamic;
};

struct pass {
	const struct plan_file *file;
	struct expansion *const *list;
	size_t n;
	struct arena *arena;
	struct image image;
	struct dynamic dynamic;
	struct symbols symbols;
	struct functions functions; /* only where there are places */
	bool has_places;
	bool overflow; /* MOST_RECORDS were not enough */
	struct demangler demangler;
	VEC(struct record) records;
};

static bool is_place(const struct spec_function *function)
{
	return function->by == BY_OFFSET || function->by == BY_ADDRESS;
}

/* ---- the pass over the symbols ---- */

/* A symbol's name in all its forms, made as they are needed. */
struct forms {
	const struct symbol *symbol;
	const char *full, *bare;
	bool made;
};

static bool matches(struct pass *pass, struct forms *forms, const char *pattern)
{
	const struct symbol *symbol = forms->symbol;

	if (glob_matches(pattern, symbol->name, symbol->length))
		return true;
	if (!forms->made) {
		forms->made = true;
		forms->full = demangle_full(&pass->demangler, symbol->name, symbol->length);
		forms->bare = demangle_bare(&pass->demangler, symbol->name, symbol->length);
	}
	return (forms->full && glob_matches(pattern, forms->full, strlen(forms->full))) ||
	       (forms->bare && glob_matches(pattern, forms->bare, strlen(forms->bare)));
}

static void add_record(struct pass *pass, const struct symbol *symbol,
		       const struct candidate *place, size_t pattern)
{
	if (pass->records.n == MOST_RECORDS) {
		pass->overflow = true;
		return;
	}
	*vec_push(&pass->records) = (struct record){
		.offset = place->offset,
		.address = symbol->value,
		.size = place->size < UINT32_MAX ? (uint32_t)place->size : UINT32_MAX,
		.length = (uint32_t)symbol->length,
		.string = symbol->string,
		.source = symbol->bind == STB_LOCAL ? (uint32_t)symbol->source : 0,
		.pattern = (uint32_t)pattern,
		.versym = symbol->versym,
		.dynamic = symbol->dynamic,
	};
}

static void visit(void *context, const struct symbol *symbol)
{
	struct pass *pass = context;
	struct forms forms = {.symbol = symbol};
	struct candidate place;

	if (pass->has_places)
		functions_visit(&pass->functions, symbol);
	if (symbol->kind != SYMBOL_FUNCTION || !symbol->is_default ||
	    symbols_is_cold(symbol->name, symbol->length))
		return;
	lookup_place(&pass->image, symbol, &place);
	for (size_t i = 0; place.is_code && i < pass->n; i++) {
		const struct spec_function *function = pass->list[i]->function;
		if (function->by == BY_MATCH && matches(pass, &forms, function->symbol))
			add_record(pass, symbol, &place, i);
	}
}

static int read_symbols(struct pass *pass)
{
	struct err err;
	int rc = image_open(&pass->image, pass->file->fd, &err);

	if (rc)
		return rc;
	rc = dynamic_open(&pass->dynamic, &pass->image, &err);
	if (!rc)
		rc = symbols_open(&pass->symbols, &pass->image, &pass->dynamic, &err);
	functions_init(&pass->functions, &pass->symbols);
	return rc ? rc : symbols_each(&pass->symbols, visit, pass, &err);
}

static void close_pass(struct pass *pass)
{
	vec_fini(&pass->records);
	functions_fini(&pass->functions);
	symbols_close(&pass->symbols);
	dynamic_close(&pass->dynamic);
	image_close(&pass->image);
}

/* ---- patterns ---- */

/* By pattern, then by place; of one place the shortest name first, and its versioned form. */
static int by_place(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	if (a->pattern != b->pattern)
		return a->pattern < b->pattern ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	if (a->dynamic != b->dynamic)
		return b->dynamic - a->dynamic;
	return (a->string > b->string) - (a->string < b->string);
}

static char *name_of(struct pass *pass, const struct record *record)
{
	struct strings *strings =
		record->dynamic ? &pass->symbols.dynamic->strings : &pass->symbols.strings;
	size_t length;
	const char *name = strings_get(strings, record->string, &length);

	return arena_strndup(pass->arena, name ? name : "", name ? record->length : 0);
}

static const char *full_name(struct pass *pass, const struct record *record, const char *name)
{
	bool is_default = true;
	const char *version = record->dynamic ? versions_name(&pass->symbols.versions,
							      record->versym, &is_default)
					      : NULL;

	return version ? arena_printf(pass->arena, "%s@@%s", name, version) : name;
}

/* Other names of the function whose records are [0, n), of which the first was taken. */
static const char *aliases_of(struct pass *pass, const struct record *records, size_t n)
{
	const char *listed[SHOWN_ALIASES + 1] = {name_of(pass, &records[0])};
	size_t n_listed = 1, more = 0;
	struct strbuf text;

	for (size_t i = 1; i < n; i++) {
		const char *name = name_of(pass, &records[i]);
		size_t j = 0;
		while (j < n_listed && strcmp(listed[j], name) != 0)
			j++;
		if (j < n_listed)
			continue;
		if (n_listed <= SHOWN_ALIASES)
			listed[n_listed++] = name;
		else
			more++;
	}
	if (n_listed == 1)
		return NULL;
	strbuf_init(&text);
	strbuf_puts(&text, "the same function is also called ");
	for (size_t i = 1; i < n_listed; i++)
		strbuf_printf(&text, "%s%.200s", i > 1 ? ", " : "", listed[i]);
	if (more)
		strbuf_printf(&text, " and %zu more", more);
	const char *copy = arena_strdup(pass->arena, strbuf_text(&text));
	strbuf_fini(&text);
	return copy;
}

static const char *copy_of(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

/* One function: the records [0, n) are its names. */
static void settle_match(struct pass *pass, const struct record *records, size_t n,
			 struct inspect_wanted *wanted)
{
	const struct record *best = &records[0];
	char *name = name_of(pass, best);
	const char *part = choose_name_warning(name);

	*wanted = (struct inspect_wanted){
		.text = name,
		.settled = true,
		.symbol = full_name(pass, best, name),
		.offset = best->offset,
		.address = best->address,
		.demangled =
			copy_of(pass->arena, demangle_full(&pass->demangler, name, best->length)),
		.source = copy_of(pass->arena, symbols_source(&pass->symbols, best->source)),
		.warning = part ? part : aliases_of(pass, records, n),
	};
	for (size_t i = 0; i < n; i++)
		if (records[i].size > wanted->size)
			wanted->size = records[i].size;
}

/* The end of the records that are at the place of the first one. */
static size_t place_end(const struct record *records, size_t first, size_t end)
{
	size_t i = first + 1;

	while (i < end && records[i].offset == records[first].offset)
		i++;
	return i;
}

/* What a near name is looked for by: the pattern without what matches anything. */
static const char *fixed_letters(struct arena *arena, const char *pattern)
{
	char *text = arena_strdup(arena, pattern), *to = text;

	for (const char *from = text; *from; from++)
		if (!strchr("*?[]\\", *from))
			*to++ = *from;
	*to = '\0';
	return text;
}

/* A single element for what cannot be settled, or is refused here. */
static struct inspect_wanted *one_wanted(struct expansion *expansion, struct arena *arena)
{
	const struct spec_function *function = expansion->function;

	expansion->n = 1;
	expansion->wanted = arena_array(arena, 1, sizeof(*expansion->wanted));
	if (function->by == BY_MATCH) {
		expansion->wanted->text = fixed_letters(arena, function->symbol);
		expansion->wanted->pattern = function->symbol;
		expansion->wanted->settled = true;
		expansion->wanted->reason = REASON_SYMBOL_NOT_FOUND;
	} else if (function->by == BY_SYMBOL) {
		expansion->wanted->text = function->symbol;
	} else {
		expansion->wanted->text = function->label;
		expansion->wanted->settled = true;
		expansion->wanted->reason = REASON_BAD_ELF;
		expansion->wanted->detail = "the file cannot be read";
	}
	return expansion->wanted;
}

static void refuse_many(struct pass *pass, struct expansion *expansion, size_t functions)
{
	const struct spec_function *function = expansion->function;
	struct inspect_wanted *wanted = one_wanted(expansion, pass->arena);

	wanted->reason = REASON_LIMIT;
	wanted->detail = arena_printf(
		pass->arena,
		"%.300s matches %s%zu functions in %s, and its `max` is %u: raise `max` (up to "
		"65536), or make the pattern narrower",
		function->symbol, pass->overflow ? "more than " : "", functions, pass->file->path,
		function->max);
}

/* The records [first, end) are of this pattern. */
static void settle_pattern(struct pass *pass, struct expansion *expansion, size_t first, size_t end)
{
	const struct record *records = pass->records.at;
	size_t functions = 0, k = 0;

	for (size_t i = first; i < end; i = place_end(records, i, end))
		functions++;
	if (functions > expansion->function->max || (functions && pass->overflow)) {
		refuse_many(pass, expansion, functions);
		return;
	}
	if (functions == 0) {
		one_wanted(expansion, pass->arena);
		return;
	}
	expansion->wanted = arena_array(pass->arena, functions, sizeof(*expansion->wanted));
	expansion->n = functions;
	for (size_t i = first, next; i < end; i = next) {
		next = place_end(records, i, end);
		settle_match(pass, &records[i], next - i, &expansion->wanted[k++]);
	}
}

static void settle_patterns(struct pass *pass)
{
	const struct record *records = pass->records.at;
	size_t first = 0, end = 0;

	if (pass->records.n)
		qsort(pass->records.at, pass->records.n, sizeof(*records), by_place);
	for (size_t i = 0; i < pass->n; i++, first = end) {
		while (end < pass->records.n && records[end].pattern == i)
			end++;
		if (pass->list[i]->function->by == BY_MATCH)
			settle_pattern(pass, pass->list[i], first, end);
	}
}

/* ---- all of it ---- */

void expand_functions(const struct plan_file *file, struct expansion *const *list, size_t n,
		      struct arena *arena)
{
	struct pass pass = {.file = file, .list = list, .n = n, .arena = arena};
	bool needed = false;

	for (size_t i = 0; i < n; i++) {
		one_wanted(list[i], arena);
		pass.has_places |= is_place(list[i]->function);
		needed |= list[i]->function->by != BY_SYMBOL;
	}
	if (!needed)
		return;
	if (read_symbols(&pass) == 0) {
		settle_patterns(&pass);
		functions_sort(&pass.functions);
		for (size_t i = 0; i < n; i++)
			if (is_place(list[i]->function))
				place_settle(&pass.functions, list[i]->function, list[i]->wanted,
					     arena);
	}
	close_pass(&pass);
}
