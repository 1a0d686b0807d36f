/* Which of the symbols that have a wanted name is meant, and what to tell when none can be. */
#include "target/choose.h"

#include <elf.h>
#include <string.h>

#include "base/strbuf.h"

enum { LISTED = 8 };

/* What was written after the name: nothing, @VERSION, or @@VERSION (the default one only). */
struct request {
	const char *version; /* NULL: none */
	bool only_default;
};

static struct request request_of(const char *text)
{
	const char *at = text + lookup_base_length(text);
	struct request request = {0};

	if (*at != '@')
		return request;
	request.only_default = at[1] == '@';
	request.version = at + 1 + request.only_default;
	return request;
}

static bool fits(const struct candidate *candidate, const struct request *request)
{
	if (!request->version || candidate->kind == SYMBOL_UNDEFINED)
		return true;
	return candidate->version && strcmp(candidate->version, request->version) == 0 &&
	       (candidate->is_default || !request->only_default);
}

static bool is_function(const struct candidate *candidate)
{
	return candidate->is_code && candidate->kind <= SYMBOL_UNTYPED;
}

/* Those of `name` that fit, by preference: `found` has room for all of them. */
static size_t filter(const struct lookup_name *name, const struct request *request,
		     const struct candidate **found)
{
	size_t n = 0;

	for (size_t i = 0; i < name->n; i++)
		if (name->candidate[i].is_default && fits(&name->candidate[i], request))
			found[n++] = &name->candidate[i];
	if (n && !request->version)
		return n;
	for (size_t i = 0; i < name->n; i++)
		if (!name->candidate[i].is_default && fits(&name->candidate[i], request))
			found[n++] = &name->candidate[i];
	return n;
}

/* Keep the functions, each offset once. */
static size_t distinct_functions(const struct candidate **found, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t j = 0;
		if (!is_function(found[i]))
			continue;
		while (j < kept && found[j]->offset != found[i]->offset)
			j++;
		if (j == kept)
			found[kept++] = found[i];
	}
	return kept;
}

static const char *full_name(struct arena *arena, const struct lookup_name *name,
			     const struct candidate *candidate)
{
	if (!candidate->version)
		return arena_strndup(arena, name->base, name->length);
	return arena_printf(arena, "%.*s%s%s", (int)name->length, name->base,
			    candidate->is_default ? "@@" : "@", candidate->version);
}

static void describe(struct strbuf *text, const struct lookup_name *name,
		     const struct candidate *candidate, struct symbols *symbols)
{
	const char *source = symbols_source(symbols, candidate->source);

	if (candidate->version)
		strbuf_printf(text, "%.*s%s%s ", (int)name->length, name->base,
			      candidate->is_default ? "@@" : "@", candidate->version);
	strbuf_printf(text, "at offset 0x%llx, %llu bytes", (unsigned long long)candidate->offset,
		      (unsigned long long)candidate->size);
	if (source)
		strbuf_printf(text, ", in %.200s", source);
	else if (candidate->bind != STB_LOCAL && !candidate->version)
		strbuf_puts(text, ", global");
}

static void say_ambiguous(const struct lookup *lookup, const struct lookup_name *name,
			  const struct candidate **found, size_t n, struct symbols *symbols,
			  struct choice *choice)
{
	struct strbuf text;
	bool versions = true;

	strbuf_init(&text);
	strbuf_printf(&text, "%.*s is the name of %zu functions: ", (int)name->length, name->base,
		      n + name->n_more);
	for (size_t i = 0; i < n; i++) {
		versions &= found[i]->version != NULL;
		if (i >= LISTED)
			continue;
		strbuf_puts(&text, i ? "; " : "");
		describe(&text, name, found[i], symbols);
	}
	if (n + name->n_more > LISTED)
		strbuf_printf(&text, "; and %zu more", n + name->n_more - LISTED);
	strbuf_puts(&text, versions ? ": write one with its version"
				    : ": which one is meant cannot be told by name; give its "
				      "`offset` and a `name`");
	choice->reason = REASON_SYMBOL_AMBIGUOUS;
	choice->detail = arena_strdup(lookup->arena, strbuf_text(&text));
	strbuf_fini(&text);
}

static void say_not_function(const struct lookup *lookup, const struct lookup_name *name,
			     const struct candidate *candidate, struct choice *choice)
{
	static const char *const what[] = {
		[SYMBOL_FUNCTION] = "lies outside of the executable part of the file",
		[SYMBOL_UNTYPED] = "is a label outside of executable code",
		[SYMBOL_IFUNC] = "lies outside of the executable part of the file",
		[SYMBOL_DATA] = "is data, not a function",
		[SYMBOL_THREAD_LOCAL] = "is a thread-local variable, not a function",
		[SYMBOL_ABSOLUTE] = "is an absolute value, not a function in this file",
		[SYMBOL_OTHER] = "is not a function",
	};

	choice->reason = REASON_NOT_A_FUNCTION;
	choice->detail = arena_printf(lookup->arena, "%.*s %s", (int)name->length, name->base,
				      what[candidate->kind]);
}

/* None of the candidates is a function: the most telling one decides what is said. */
static void refuse(const struct lookup *lookup, const struct lookup_name *name,
		   const struct candidate **found, size_t n, struct choice *choice)
{
	const struct candidate *undefined = NULL, *other = NULL;

	for (size_t i = 0; i < n; i++) {
		if (found[i]->kind == SYMBOL_IFUNC && found[i]->is_code) {
			choice->reason = REASON_IFUNC;
			choice->candidate = found[i];
			return;
		}
		if (found[i]->kind == SYMBOL_UNDEFINED)
			undefined = found[i];
		else
			other = found[i];
	}
	if (other)
		say_not_function(lookup, name, other, choice);
	else
		choice->reason = undefined ? REASON_SYMBOL_UNDEFINED : REASON_SYMBOL_NOT_FOUND;
}

static void say_versions(const struct lookup *lookup, const struct lookup_name *name,
			 const char *text, struct choice *choice)
{
	struct strbuf out;
	size_t listed = 0;

	strbuf_init(&out);
	strbuf_printf(&out, "%.300s: there is no such version; ", text);
	for (size_t i = 0; i < name->n; i++) {
		const struct candidate *c = &name->candidate[i];
		if (!c->version || c->kind == SYMBOL_UNDEFINED || listed == LISTED)
			continue;
		strbuf_printf(&out, "%s%.*s%s%s", listed++ ? ", " : "the file has ",
			      (int)name->length, name->base, c->is_default ? "@@" : "@",
			      c->version);
	}
	if (!listed)
		strbuf_printf(&out, "the file has %.*s without a version", (int)name->length,
			      name->base);
	choice->detail = arena_strdup(lookup->arena, strbuf_text(&out));
	strbuf_fini(&out);
}

const char *choose_name_warning(const char *symbol)
{
	return strstr(symbol, ".part.")
		       ? "only a part of the function that the compiler split off: calls that do "
			 "not reach this part are not counted"
		       : NULL;
}

static void warn(const struct lookup *lookup, struct choice *choice)
{
	const struct candidate *c = choice->candidate;

	choice->warning = choose_name_warning(choice->symbol);
	if (choice->warning)
		return;
	if (c->kind == SYMBOL_UNTYPED)
		choice->warning = "the symbol has no type (assembler code?): it is taken for a "
				  "function because it lies in executable code";
	else if (c->is_clipped)
		choice->warning = arena_printf(
			lookup->arena,
			"the symbol's size reaches beyond the code: taken as %llu bytes",
			(unsigned long long)c->size);
}

void choose_function(const struct lookup *lookup, const struct lookup_name *name, const char *text,
		     struct symbols *symbols, struct choice *choice)
{
	const struct candidate *found[LOOKUP_CANDIDATES];
	struct request request = request_of(text);
	size_t n = filter(name, &request, found);

	memset(choice, 0, sizeof(*choice));
	if (symbols_is_cold(name->base, name->length)) {
		choice->reason = REASON_NOT_A_FUNCTION;
		choice->detail =
			arena_printf(lookup->arena,
				     "%.300s is the rarely used part of a function: it is entered "
				     "by a jump, not "
				     "by a call, and cannot be measured; name the function itself",
				     text);
		return;
	}
	if (n == 0) {
		choice->reason = REASON_SYMBOL_NOT_FOUND;
		if (name->n)
			say_versions(lookup, name, text, choice);
		return;
	}
	const struct candidate *all[LOOKUP_CANDIDATES];
	memcpy(all, found, n * sizeof(*found));
	size_t functions = distinct_functions(found, n);
	if (functions == 0) {
		refuse(lookup, name, all, n, choice);
		return;
	}
	if (functions > 1 || (name->n_more && !request.version)) {
		say_ambiguous(lookup, name, found, functions, symbols, choice);
		return;
	}
	choice->candidate = found[0];
	choice->symbol = full_name(lookup->arena, name, found[0]);
	warn(lookup, choice);
}
