/* Merging by sorting: by place to find what is found twice, by label to find what reads alike. */
#include "target/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"

#define LONGEST_LABEL 1024 /* as in a config */
#define MOST_ROUNDS   8

/* A found function, and where it stands among all that the target's entries have. */
struct found {
	struct inspect_wanted *wanted;
	const struct spec_function *function;
	size_t order;
	bool dropped;
	unsigned form; /* of its label */
};

struct merge {
	struct expansion *const *list;
	size_t n;
	struct arena *arena;
	VEC(struct found) all;
};

static bool is_match(const struct found *found)
{
	return found->function->by == BY_MATCH;
}

static void gather(struct merge *merge)
{
	for (size_t i = 0; i < merge->n; i++)
		for (size_t j = 0; j < merge->list[i]->n; j++)
			*vec_push(&merge->all) = (struct found){
				.wanted = &merge->list[i]->wanted[j],
				.function = merge->list[i]->function,
				.order = merge->all.n,
			};
}

static int by_order(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	return (a->order > b->order) - (a->order < b->order);
}

/* ---- one function, one series ---- */

/* Those that were not found last. */
static int by_offset(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (!a->wanted->reason != !b->wanted->reason)
		return a->wanted->reason ? 1 : -1;
	if (a->wanted->offset != b->wanted->offset)
		return a->wanted->offset < b->wanted->offset ? -1 : 1;
	return by_order(left, right);
}

static void note_drop(struct merge *merge, struct found *first, struct found *again)
{
	const char *said = first->wanted->warning;

	again->dropped = true;
	first->wanted->warning = arena_printf(
		merge->arena,
		"%s%s%.200s on line %d finds this function as well: it is one series, as line %d "
		"has it",
		said ? said : "", said ? "; " : "",
		again->function->by == BY_MATCH ? again->function->symbol : again->function->label,
		again->function->line, first->function->line);
}

static void drop_duplicates(struct merge *merge)
{
	struct found *all = merge->all.at;

	if (merge->all.n)
		qsort(all, merge->all.n, sizeof(*all), by_offset);
	for (size_t first = 0, i = 1; i < merge->all.n && !all[i].wanted->reason; i++) {
		if (all[i].wanted->offset != all[first].wanted->offset) {
			first = i;
			continue;
		}
		if (is_match(&all[first]) || is_match(&all[i]))
			note_drop(merge, &all[first], &all[i]);
	}
	if (merge->all.n)
		qsort(all, merge->all.n, sizeof(*all), by_order);
}

/* ---- labels ---- */

/* Bytes that are no text, and control characters, would break what is scraped. */
static char *clean(struct arena *arena, const char *text)
{
	struct strbuf out;

	strbuf_init(&out);
	while (*text && out.length < LONGEST_LABEL) {
		size_t length = utf8_sequence(text);
		if (length && (unsigned char)*text >= 0x20 && *text != 0x7f)
			strbuf_add(&out, text, length);
		else
			strbuf_printf(&out, "\\x%02x", (unsigned char)*text);
		text += length ? length : 1;
	}
	char *copy = arena_strdup(arena, strbuf_text(&out));
	strbuf_fini(&out);
	return copy;
}

/* Forms from the one that reads best to the one that is surely different. */
static const char *label_of(struct arena *arena, const struct found *found)
{
	const struct inspect_wanted *wanted = found->wanted;
	int room = LONGEST_LABEL - 300;

	if (found->form == 0 && wanted->demangled && strlen(wanted->demangled) <= LONGEST_LABEL)
		return clean(arena, wanted->demangled);
	if (found->form <= 1 && strlen(wanted->text) <= LONGEST_LABEL)
		return clean(arena, wanted->text);
	if (found->form <= 2 && wanted->source)
		return clean(arena, arena_printf(arena, "%.*s (%.200s)", room, wanted->text,
						 wanted->source));
	return clean(arena, arena_printf(arena, "%.*s (0x%" PRIx64 ")%.*s", room, wanted->text,
					 wanted->offset, found->form > 3 ? (int)found->form - 3 : 0,
					 "''''''''"));
}

static void label_all(struct merge *merge)
{
	for (size_t i = 0; i < merge->all.n; i++) {
		struct found *found = &merge->all.at[i];
		if (is_match(found) && !found->wanted->reason)
			found->wanted->label = label_of(merge->arena, found);
	}
}

static const char *shown(const struct found *found)
{
	return found->wanted->label ? found->wanted->label : found->function->label;
}

static int by_label(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	int order = a->dropped - b->dropped;

	if (!order)
		order = strcmp(shown(a), shown(b));
	return order ? order : by_order(left, right);
}

/*
 * Give the matches among [first, end), which read alike, another form; whether there was one. Of
 * symbols that differ in nothing, those that are local to a source file get its name, and the one
 * that is not stays as it is.
 */
static bool tell_apart(struct merge *merge, size_t first, size_t end)
{
	size_t global = 0;
	bool changed = false;

	for (size_t i = first; i < end; i++)
		global += !merge->all.at[i].wanted->source;
	for (size_t i = first; i < end; i++) {
		struct found *found = &merge->all.at[i];
		if (!found->wanted->label)
			continue;
		if (found->form == 1 && global == 1 && !found->wanted->source)
			continue;
		found->form++;
		changed = true;
	}
	return changed;
}

/* Another round is needed when this one changed labels: the new ones may read alike as well. */
static bool tell_apart_all(struct merge *merge)
{
	struct found *all = merge->all.at;
	bool changed = false;

	qsort(all, merge->all.n, sizeof(*all), by_label);
	for (size_t first = 0, end; first < merge->all.n; first = end) {
		for (end = first + 1; end < merge->all.n && !all[end].dropped &&
				      strcmp(shown(&all[end]), shown(&all[first])) == 0;)
			end++;
		if (end - first > 1)
			changed |= tell_apart(merge, first, end);
	}
	if (changed)
		label_all(merge);
	return changed;
}

/* A file made to defeat all forms loses the functions that still read alike. */
static void drop_alike(struct merge *merge)
{
	struct found *all = merge->all.at;

	qsort(all, merge->all.n, sizeof(*all), by_label);
	for (size_t i = 1; i < merge->all.n && !all[i].dropped; i++)
		if (strcmp(shown(&all[i]), shown(&all[i - 1])) == 0 && all[i].wanted->label)
			all[i].dropped = true;
}

static void label_matches(struct merge *merge)
{
	label_all(merge);
	for (unsigned round = 0; round < MOST_ROUNDS && tell_apart_all(merge); round++)
		;
	drop_alike(merge);
	qsort(merge->all.at, merge->all.n, sizeof(*merge->all.at), by_order);
}

/* ---- the result ---- */

static int by_wanted_label(const void *left, const void *right)
{
	const struct inspect_wanted *a = left, *b = right;

	return strcmp(a->label ? a->label : "", b->label ? b->label : "");
}

static void take(struct merge *merge)
{
	const struct found *found = merge->all.at;

	for (size_t i = 0; i < merge->n; i++) {
		struct expansion *expansion = merge->list[i];
		size_t n = expansion->n;
		expansion->n = 0;
		for (size_t j = 0; j < n; j++, found++)
			if (!found->dropped)
				expansion->wanted[expansion->n++] = expansion->wanted[j];
		if (expansion->n > 1)
			qsort(expansion->wanted, expansion->n, sizeof(*expansion->wanted),
			      by_wanted_label);
	}
}

void merge_target(struct expansion *const *list, size_t n, struct arena *arena)
{
	struct merge merge = {.list = list, .n = n, .arena = arena};
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= list[i]->function->by == BY_MATCH;
	if (!any)
		return;
	gather(&merge);
	drop_duplicates(&merge);
	label_matches(&merge);
	take(&merge);
	vec_fini(&merge.all);
}
