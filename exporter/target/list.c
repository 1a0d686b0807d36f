/*
 * Listing: the symbols are kept as small records (no names), sorted by offset, and shown with
 * all the names of one offset together.
 */
#include "target/list.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/dynamic.h"
#include "target/evidence.h"
#include "target/file.h"
#include "target/functions.h"
#include "target/image.h"
#include "target/judge.h"
#include "target/lookup.h"
#include "target/nop5.h"
#include "target/symbols.h"

struct record {
	uint64_t offset;
	uint32_t size; /* UINT32_MAX: at least that */
	uint32_t string;
	uint16_t versym;
	uint8_t bind;
	bool dynamic : 1, untyped : 1, matches : 1;
};

struct listing {
	struct image image;
	struct dynamic dynamic;
	struct symbols symbols;
	struct evidence evidence;
	struct functions functions;
	const char *pattern;
	bool truncated;
	VEC(struct record) records;
	VEC(struct judged) judged; /* of the functions that are shown, in their order */
};

static bool name_matches(const char *pattern, const struct symbol *symbol)
{
	char name[1024];

	if (!pattern)
		return true;
	if (symbol->length >= sizeof(name))
		return false;
	memcpy(name, symbol->name, symbol->length);
	name[symbol->length] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

static void visit_symbol(void *context, const struct symbol *symbol)
{
	struct listing *listing = context;
	struct candidate place;

	evidence_visit(&listing->evidence, symbol);
	functions_visit(&listing->functions, symbol);
	if (symbol->kind > SYMBOL_UNTYPED || symbols_is_cold(symbol->name, symbol->length))
		return;
	lookup_place(&listing->image, symbol, &place);
	if (!place.is_code)
		return;
	if (listing->records.n == LIST_MOST) {
		listing->truncated = true;
		return;
	}
	*vec_push(&listing->records) = (struct record){
		.offset = place.offset,
		.size = place.size < UINT32_MAX ? (uint32_t)place.size : UINT32_MAX,
		.string = symbol->string,
		.versym = symbol->versym,
		.bind = symbol->bind,
		.dynamic = symbol->dynamic,
		.untyped = symbol->kind == SYMBOL_UNTYPED,
		.matches = name_matches(listing->pattern, symbol),
	};
}

/* By offset; at one offset exported, typed and non-local names first. */
static int by_offset(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->untyped != b->untyped)
		return a->untyped - b->untyped;
	if (a->dynamic != b->dynamic)
		return b->dynamic - a->dynamic;
	if (a->bind != b->bind)
		return (a->bind == STB_LOCAL) - (b->bind == STB_LOCAL);
	return (a->string > b->string) - (a->string < b->string);
}

static void put_name(struct listing *listing, const struct record *record, struct strbuf *out)
{
	struct symbols *symbols = &listing->symbols;
	struct strings *strings = record->dynamic ? &symbols->dynamic->strings : &symbols->strings;
	size_t length;
	bool is_default;
	const char *name = strings_get(strings, record->string, &length);

	strbuf_puts(out, name ? name : "");
	if (!record->dynamic)
		return;
	const char *version = versions_name(&symbols->versions, record->versym, &is_default);
	if (version)
		strbuf_printf(out, "%s%s", is_default ? "@@" : "@", version);
}

struct names {
	struct strbuf text[LIST_MOST_NAMES];
	const char *list[LIST_MOST_NAMES];
	size_t n, n_more;
};

/* Whether `name` says nothing that `held` does not say: the same, or the same with a version. */
static bool is_covered(const char *name, const char *held)
{
	size_t length = strlen(name);

	return strncmp(name, held, length) == 0 &&
	       (held[length] == '\0' || (held[length] == '@' && !strchr(name, '@')));
}

static void add_name(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (is_covered(name, names->list[i]))
			return;
	if (names->n == LIST_MOST_NAMES) {
		names->n_more++;
		return;
	}
	struct strbuf *text = &names->text[names->n];
	strbuf_clear(text);
	strbuf_puts(text, name);
	names->list[names->n++] = strbuf_text(text);
}

static const char *bind_name(unsigned char bind)
{
	return bind == STB_LOCAL ? "local" : bind == STB_WEAK ? "weak" : "global";
}

/* Show the records [first, end), which are at one offset. `judged` may be NULL. */
static void show(struct listing *listing, size_t first, size_t end, struct names *names,
		 const struct judged *judged, const struct list_file *file, list_visit *visit,
		 void *context)
{
	const struct record *records = listing->records.at;
	uint64_t size = 0;
	struct strbuf name;

	strbuf_init(&name);
	names->n = names->n_more = 0;
	for (size_t i = first; i < end; i++) {
		strbuf_clear(&name);
		put_name(listing, &records[i], &name);
		add_name(names, strbuf_text(&name));
		size = records[i].size > size ? records[i].size : size;
	}
	strbuf_fini(&name);
	struct list_function function = {
		.offset = records[first].offset,
		.size = size,
		.bind = bind_name(records[first].bind),
		.untyped = records[first].untyped,
		.names = names->list,
		.n_names = names->n,
		.n_more_names = names->n_more,
	};
	if (judged) {
		function.entry_class = judged->entry.class;
		function.strategy =
			judged->reason || file->is_go ? NULL : exit_strategy_name(judged->strategy);
		function.why = file->is_go ? "Go code, whose stacks move" : judged->detail;
	}
	visit(context, file, &function);
}

/* The end of the records at the offset of `first`; whether any of them is asked for. */
static size_t group_end(const struct listing *listing, size_t first, bool *matches)
{
	const struct record *records = listing->records.at;
	size_t end = first;

	*matches = false;
	for (; end < listing->records.n && records[end].offset == records[first].offset; end++)
		*matches |= records[end].matches;
	return end;
}

static void judge_list(struct listing *listing, const struct list_file *file, struct arena *arena)
{
	const struct judge_file about = {
		.functions = &listing->functions,
		.arena = arena,
		.is_library = file->is_library,
		.is_go = file->is_go,
		.return_is_safe = listing->evidence.safe,
		.altstack = listing->evidence.altstack,
		.evidence = arena_strdup(arena, strbuf_text(&listing->evidence.why)),
		.nop5_is_cheap = nop5_is_cheap(),
	};
	size_t n = listing->judged.n;
	_cleanup_free_ struct judged **list = alloc_zero(n, sizeof(struct judged *));

	for (size_t i = 0; i < n; i++)
		list[i] = &listing->judged.at[i];
	judge(&about, list, n);
}

/* Look at the code of all functions that are shown, unless they are too many. */
static bool judge_all(struct listing *listing, const struct list_file *file, struct arena *arena)
{
	bool matches;

	for (size_t first = 0, end; first < listing->records.n; first = end) {
		end = group_end(listing, first, &matches);
		if (!matches)
			continue;
		if (listing->judged.n == LIST_MOST_JUDGED)
			return false;
		struct judged *judged = vec_push(&listing->judged);
		judged->exit = file->is_go ? EXIT_NONE : EXIT_AUTO;
		for (size_t i = first; i < end; i++)
			if (listing->records.at[i].size > judged->size)
				judged->size = listing->records.at[i].size;
		image_code_address(&listing->image, listing->records.at[first].offset,
				   &judged->address);
	}
	judge_list(listing, file, arena);
	return true;
}

static long show_all(struct listing *listing, const struct list_file *file, list_visit *visit,
		     void *context)
{
	struct names names = {0};
	long shown = 0;
	bool matches;

	for (size_t first = 0, end; first < listing->records.n; first = end) {
		end = group_end(listing, first, &matches);
		if (!matches)
			continue;
		show(listing, first, end, &names, file->judged ? &listing->judged.at[shown] : NULL,
		     file, visit, context);
		shown++;
	}
	for (size_t i = 0; i < LIST_MOST_NAMES; i++)
		strbuf_fini(&names.text[i]);
	return shown;
}

static int read_file(struct listing *listing, int fd, struct err *err)
{
	int rc = image_open(&listing->image, fd, err);

	if (!rc)
		rc = dynamic_open(&listing->dynamic, &listing->image, err);
	if (!rc)
		rc = symbols_open(&listing->symbols, &listing->image, &listing->dynamic, err);
	if (rc)
		return rc;
	evidence_init(&listing->evidence, &listing->image, &listing->symbols);
	functions_init(&listing->functions, &listing->symbols);
	rc = symbols_each(&listing->symbols, visit_symbol, listing, err);
	functions_sort(&listing->functions);
	if (!rc)
		evidence_conclude(&listing->evidence, &listing->image, &listing->dynamic,
				  &listing->functions);
	return rc;
}

static void listing_fini(struct listing *listing)
{
	vec_fini(&listing->records);
	vec_fini(&listing->judged);
	functions_fini(&listing->functions);
	evidence_fini(&listing->evidence);
	symbols_close(&listing->symbols);
	dynamic_close(&listing->dynamic);
	image_close(&listing->image);
}

long list_functions(const char *path, const char *pattern, list_visit *visit, void *context,
		    struct arena *arena, struct list_file *file, struct err *err)
{
	struct listing listing = {.pattern = pattern};
	struct err why = {0};
	struct file opened;

	memset(file, 0, sizeof(*file));
	long rc = file_open(&opened, path, arena, err);
	if (rc)
		return rc;
	file->path = opened.path;
	rc = read_file(&listing, opened.fd, &why);
	if (rc) {
		err_set(err, why.code, why.reason, "%s: %s", file->path, why.msg);
	} else {
		file->is_library = dynamic_is_library(&listing.dynamic, &listing.image);
		file->is_go = listing.evidence.go;
		file->truncated = listing.truncated;
		if (listing.records.n)
			qsort(listing.records.at, listing.records.n, sizeof(struct record),
			      by_offset);
		file->judged = judge_all(&listing, file, arena);
		rc = show_all(&listing, file, visit, context);
	}
	listing_fini(&listing);
	close(opened.fd);
	return rc;
}
