/* Putting a snapshot together. */
#include "collect/builder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

void builder_init(struct builder *builder)
{
	memset(builder, 0, sizeof(*builder));
	builder->snapshot = alloc_zero(1, sizeof(*builder->snapshot));
	arena_init(&builder->snapshot->arena);
}

void builder_begin(struct builder *builder, const struct family *kind)
{
	builder->family = *kind;
	builder->series.n = 0;
}

struct series *builder_add(struct builder *builder, const struct label *labels, size_t n_labels)
{
	struct series *series = vec_push(&builder->series);

	series->labels = labels;
	series->n_labels = n_labels;
	return series;
}

static const void *keep(struct builder *builder, const void *items, size_t n, size_t size)
{
	void *copy = arena_array(&builder->snapshot->arena, n, size);

	if (n)
		memcpy(copy, items, n * size);
	return copy;
}

void builder_end(struct builder *builder)
{
	if (builder->series.n == 0)
		return;
	builder->family.n_series = builder->series.n;
	builder->family.series =
		keep(builder, builder->series.at, builder->series.n, sizeof(*builder->series.at));
	*vec_push(&builder->families) = builder->family;
}

struct snapshot *builder_finish(struct builder *builder)
{
	struct snapshot *snapshot = builder->snapshot;

	snapshot->n_families = builder->families.n;
	snapshot->families = keep(builder, builder->families.at, builder->families.n,
				  sizeof(*builder->families.at));
	vec_fini(&builder->families);
	vec_fini(&builder->series);
	builder->snapshot = NULL;
	return snapshot;
}

const char *builder_text(struct builder *builder, const char *text)
{
	struct arena *arena = &builder->snapshot->arena;

	if (!text)
		return "";
	if (utf8_valid(text))
		return arena_strdup(arena, text);
	char *clean = arena_alloc(arena, sizeof(UTF8_REPLACEMENT) * strlen(text));
	for (char *end = clean; *text;) {
		size_t length = utf8_sequence(text);
		end = length ? mempcpy(end, text, length) : stpcpy(end, UTF8_REPLACEMENT);
		text += length ? length : 1;
	}
	return clean;
}

const struct label *builder_labels(struct builder *builder, const struct label *labels,
				   size_t n_labels, const struct label *more, size_t n_more)
{
	struct label *all = arena_array(&builder->snapshot->arena, n_labels + n_more, sizeof(*all));

	if (n_labels)
		memcpy(all, labels, n_labels * sizeof(*all));
	for (size_t i = 0; i < n_more; i++) {
		all[n_labels + i].name = builder_text(builder, more[i].name);
		all[n_labels + i].value = builder_text(builder, more[i].value);
	}
	return all;
}

void builder_add_single(struct builder *builder, const struct family *kind, struct value value)
{
	builder_begin(builder, kind);
	builder_add(builder, NULL, 0)->value = value;
	builder_end(builder);
}
