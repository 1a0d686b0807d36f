/* Readers of keys that several kinds of mappings have. */
#include "config/parser.h"

#include "config/buckets.h"
#include "config/labels.h"
#include "config/scalar.h"

char *parser_keep(struct parser *p, const char *text)
{
	return arena_strdup(p->arena, text);
}

void parser_limit(struct parser *p, const char *key, const struct yaml_value *value, uint64_t high,
		  uint32_t *limit)
{
	uint64_t n;

	if (scalar_integer(p->report, key, value, 1, high, &n))
		*limit = (uint32_t)n;
}

void parser_read_name(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	const char *text;

	draft->name_place = value->span;
	if (!scalar_text(p->report, "name", value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	draft->spec.label = parser_keep(p, text);
	draft->place = value->span;
}

void parser_read_buckets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	buckets_read(p->report, p->arena, value, &draft->spec.buckets);
	draft->buckets_set = draft->spec.buckets.n > 0;
	draft->buckets_place = value->span;
}

void parser_read_labels(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	labels_read(p->report, p->arena, value, &draft->spec.labels, &draft->spec.n_labels);
}
