/* The keys of an item of `usdt:`. */
#include "config/parse_usdt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/labels.h"
#include "config/scalar.h"

/* `provider:name`. Which of the two is written how is the program's business: any text will do. */
static bool read_site(struct parser *p, const char *key, const struct yaml_value *value,
		      struct spec_usdt *usdt)
{
	const char *text;

	if (!scalar_text(p->report, key, value, LABELS_MAX_TEXT_BYTES, &text))
		return false;
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !colon[1] || strpbrk(colon + 1, ":/") || text[0] == '/') {
		report_error(p->report, value->span,
			     "`%s` must be `provider:name`, such as `postgresql:query__start`, not "
			     "%s%s",
			     key, QUOTE(text),
			     text[0] == '/' ? " (the file belongs in `binary`)" : "");
		return false;
	}
	char *provider = parser_keep(p, text);
	provider[colon - text] = '\0';
	*usdt = (struct spec_usdt){.provider = provider, .name = provider + (colon - text) + 1};
	return true;
}

static void read_probe(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->key = "probe";
	draft->spec.by = BY_USDT;
	draft->place = value->span;
	if (read_site(p, "probe", value, &draft->spec.start))
		draft->spec.label = parser_keep(p, value->text);
}

static void read_start(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->key = "start";
	draft->spec.by = BY_PAIR;
	if (!draft->spec.label)
		draft->place = value->span;
	read_site(p, "start", value, &draft->spec.start);
}

static void read_end(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->end_place = value->span;
	read_site(p, "end", value, &draft->spec.end);
}

/* ---- key ---- */

/* `arg1` and so on. */
static void read_argument(struct parser *p, const char *key, const struct yaml_value *value,
			  uint32_t *argument)
{
	const char *text;
	unsigned number;
	char again[16];

	if (!scalar_text(p->report, key, value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	if (sscanf(text, "arg%2u", &number) == 1 && number >= 1 && number <= SPEC_MOST_ARGUMENT &&
	    snprintf(again, sizeof(again), "arg%u", number) > 0 && !strcmp(again, text))
		*argument = number;
	else
		report_error(p->report, value->span,
			     "`%s` must name an argument of the probe, `arg1` to `arg%d`, not %s",
			     key, SPEC_MOST_ARGUMENT, QUOTE(text));
}

static void read_start_argument(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_key *key = into;
	read_argument(p, "start", value, &key->start_argument);
}

static void read_end_argument(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_key *key = into;
	read_argument(p, "end", value, &key->end_argument);
}

static const struct field key_fields[] = {
	{.name = "start", .read = read_start_argument, .required = true},
	{.name = "end", .read = read_end_argument, .required = true},
};
const struct schema parse_usdt_key_schema = {"`key`", key_fields, N_ITEMS(key_fields)};

static void read_key(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->key_place = value->span;
	fields_read(&p->context, &parse_usdt_key_schema, value, &draft->spec.key);
}

/* ---- an item ---- */

static const struct field usdt_fields[] = {
	{.name = "probe", .read = read_probe, .one_of = true},
	{.name = "start", .read = read_start, .one_of = true},
	{.name = "end", .read = read_end},
	{.name = "name", .read = parser_read_name},
	{.name = "key", .read = read_key},
	{.name = "buckets", .read = parser_read_buckets},
	{.name = "labels", .read = parser_read_labels},
	{.name = "labels_from"},
};
const struct schema parse_usdt_schema = {"a USDT probe", usdt_fields, N_ITEMS(usdt_fields)};

static bool same_probe(const struct spec_usdt *a, const struct spec_usdt *b)
{
	return a->provider && b->provider && !strcmp(a->provider, b->provider) &&
	       !strcmp(a->name, b->name);
}

static void check_pair(struct parser *p, const struct draft_function *draft)
{
	const struct spec_function *spec = &draft->spec;

	if (!span_is_set(draft->end_place))
		report_error(p->report, draft->place,
			     "`start` needs an `end`; to count hits, write `probe` instead");
	if (!span_is_set(draft->name_place))
		report_error(p->report, draft->place, "`start` needs a `name`: the label `probe`");
	if (same_probe(&spec->start, &spec->end))
		report_error(
			p->report, draft->end_place,
			"`start` and `end` are the same probe: a measurement would end where it "
			"begins");
}

/* What goes only with `start`. */
static void check_probe(struct parser *p, const struct draft_function *draft)
{
	const struct {
		const char *key;
		struct span place;
	} others[] = {
		{"end", draft->end_place},
		{"name", draft->name_place},
		{"key", draft->key_place},
		{"buckets", draft->buckets_place},
	};

	for (size_t i = 0; i < N_ITEMS(others); i++)
		if (span_is_set(others[i].place))
			report_error(p->report, others[i].place,
				     "`%s` does not go with `probe`, whose hits are counted: what "
				     "takes time has `start` and `end`",
				     others[i].key);
}

void parse_usdt(struct parser *p, const struct yaml_value *value, struct draft_target *into)
{
	struct draft_function draft = {.place = value->span};
	struct spec_function *spec = &draft.spec;

	spec->by = BY_PAIR;
	spec->line = report_line(p->report, value->span.start);
	fields_read(&p->context, &parse_usdt_schema, value, &draft);
	if (draft.key && spec->by == BY_PAIR)
		check_pair(p, &draft);
	else if (draft.key)
		check_probe(p, &draft);
	spec->exit = spec->by == BY_PAIR ? EXIT_AUTO : EXIT_NONE;
	draft.exit_set = true;
	*vec_push(&into->functions) = draft;
}
