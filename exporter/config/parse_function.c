/* The keys of an item of `functions:`. */
#include "config/parse_function.h"

#include <string.h>

#include "base/glob.h"
#include "config/labels.h"
#include "config/scalar.h"

#define MAX_SYMBOL_BYTES 4096
#define MAX_MATCHES	 65536

static const struct choice exits[] = {
	{"auto", EXIT_AUTO},
	{"uretprobe", EXIT_URETPROBE},
	{"return-sites", EXIT_RETURN_SITES},
	{"none", EXIT_NONE},
};

bool parse_exit(struct parser *p, const struct yaml_value *value, enum exit_mode *exit)
{
	int choice;

	if (!scalar_choice(p->report, "exit", value, exits, N_ITEMS(exits), &choice))
		return false;
	*exit = (enum exit_mode)choice;
	return true;
}

static void read_symbol(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	const char *text;

	if (!scalar_text(p->report, "symbol", value, MAX_SYMBOL_BYTES, &text))
		return;
	draft->spec.symbol = parser_keep(p, text);
	if (!draft->spec.label)
		draft->place = value->span;
}

static void read_match(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	const char *text, *fault;

	draft->key = "match";
	draft->spec.by = BY_MATCH;
	if (!scalar_text(p->report, "match", value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	fault = glob_fault(text);
	if (fault)
		report_error(p->report, value->span, "the pattern %s %s", QUOTE(text), fault);
	draft->spec.symbol = parser_keep(p, text);
	draft->place = value->span;
}

static void read_max(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->max_place = value->span;
	parser_limit(p, "max", value, MAX_MATCHES, &draft->spec.max);
}

static void read_place(struct parser *p, const struct yaml_value *value,
		       struct draft_function *draft, const char *key, enum function_by by)
{
	draft->key = key;
	draft->spec.by = by;
	scalar_place(p->report, key, value, &draft->spec.position);
	if (!draft->spec.label)
		draft->place = value->span;
}

static void read_offset(struct parser *p, const struct yaml_value *value, void *into)
{
	read_place(p, value, into, "offset", BY_OFFSET);
}

static void read_address(struct parser *p, const struct yaml_value *value, void *into)
{
	read_place(p, value, into, "address", BY_ADDRESS);
}

static void read_function_exit(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	draft->exit_set = parse_exit(p, value, &draft->spec.exit);
}

static const struct field function_fields[] = {
	{.name = "symbol", .read = read_symbol, .one_of = true},
	{.name = "match", .read = read_match, .one_of = true},
	{.name = "max", .read = read_max},
	{.name = "offset", .read = read_offset, .one_of = true},
	{.name = "address", .read = read_address, .one_of = true},
	{.name = "name", .read = parser_read_name},
	{.name = "exit", .read = read_function_exit},
	{.name = "buckets", .read = parser_read_buckets},
	{.name = "labels", .read = parser_read_labels},
	{.name = "labels_from"},
};
const struct schema parse_function_schema = {"a function", function_fields,
					     N_ITEMS(function_fields)};

/* Without `name` the label is the symbol, which may be longer than a label should be. */
static void default_label(struct parser *p, struct draft_function *draft)
{
	struct spec_function *spec = &draft->spec;

	if (spec->label || !spec->symbol)
		return;
	spec->label = spec->symbol;
	if (strlen(spec->symbol) > LABELS_MAX_TEXT_BYTES)
		report_error(p->report, draft->place,
			     "this symbol is longer than a label may be (%d bytes): add a `name`",
			     LABELS_MAX_TEXT_BYTES);
}

/* What goes with which way of naming a function. */
static void check_naming(struct parser *p, const struct draft_function *draft)
{
	bool match = draft->spec.by == BY_MATCH;

	if (match && span_is_set(draft->name_place))
		report_error(
			p->report, draft->name_place,
			"`name` does not go with `match`: each function is shown under its own "
			"name");
	if (!match && span_is_set(draft->max_place))
		report_error(p->report, draft->max_place,
			     "`max` bounds how many functions a `match` may find, and there is no "
			     "`match` here");
	if (draft->key && !match && !draft->spec.symbol && !span_is_set(draft->name_place))
		report_error(p->report, draft->place, "`%s` needs a `name`: the label `function`",
			     draft->key);
}

void parse_function(struct parser *p, const struct yaml_value *value, struct draft_target *into)
{
	struct draft_function draft = {.place = value->span, .spec.max = SPEC_DEFAULT_MATCH_MAX};

	draft.spec.line = report_line(p->report, value->span.start);
	fields_read(&p->context, &parse_function_schema, value, &draft);
	check_naming(p, &draft);
	default_label(p, &draft);
	*vec_push(&into->functions) = draft;
}
