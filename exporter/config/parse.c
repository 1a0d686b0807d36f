/*
 * The config's keys. Each mapping of the file is one table below; what the design has and this
 * release has not is in the tables without a reader, so that it is named and not unknown.
 */
#include "config/parse.h"

#include <string.h>

#include "bpf/contract.h"
#include "config/buckets.h"
#include "config/labels.h"
#include "config/parse_function.h"
#include "config/parse_labels_from.h"
#include "config/parse_process.h"
#include "config/parse_usdt.h"
#include "config/parser.h"
#include "config/scalar.h"

#define MAX_PATH_BYTES 4095   /* PATH_MAX less the NUL */
#define MAX_SERIES     131072 /* PARSE_MAX_FUNCTIONS, two slots each */
#define MAX_IN_FLIGHT  16777216
#define MAX_PROGRAMS   65536
#define MAX_LABEL_SETS (UP_GROUPS - 1)

static const struct schema top, defaults, limits, target;
static const struct schema *const schemas[] = {
	&top,
	&defaults,
	&limits,
	&target,
	&parse_process_schema,
	&parse_function_schema,
	&parse_usdt_schema,
	&parse_usdt_key_schema,
};

/* ---- defaults ---- */

static void read_default_buckets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	buckets_read(p->report, p->arena, value, &draft->buckets);
}

static void read_default_exit(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	parse_exit(p, value, &draft->exit);
}

static const struct field default_fields[] = {
	{.name = "buckets", .read = read_default_buckets},
	{.name = "exit", .read = read_default_exit},
};
static const struct schema defaults = {"`defaults`", default_fields, N_ITEMS(default_fields)};

static void read_defaults(struct parser *p, const struct yaml_value *value, void *into)
{
	fields_read(&p->context, &defaults, value, into);
}

/* ---- limits ---- */

static void read_series(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	parser_limit(p, "series", value, MAX_SERIES, &spec->series);
}

static void read_in_flight(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	parser_limit(p, "in_flight", value, MAX_IN_FLIGHT, &spec->in_flight);
}

static void read_shards(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	parser_limit(p, "shards", value, UP_MAX_SHARDS, &spec->shards);
}

static void read_host_programs(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	parser_limit(p, "host_programs", value, MAX_PROGRAMS, &spec->host_programs);
}

static void read_label_sets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	parser_limit(p, "label_sets", value, MAX_LABEL_SETS, &spec->label_sets);
}

static void read_labels_keep(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	scalar_duration(p->report, "labels_keep", value, &spec->labels_keep_ns);
}

static const struct field limit_fields[] = {
	{.name = "series", .read = read_series},
	{.name = "in_flight", .read = read_in_flight},
	{.name = "shards", .read = read_shards},
	{.name = "host_programs", .read = read_host_programs},
	{.name = "label_sets", .read = read_label_sets},
	{.name = "labels_keep", .read = read_labels_keep},
};
static const struct schema limits = {"`limits`", limit_fields, N_ITEMS(limit_fields)};

static void read_limits(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	fields_read(&p->context, &limits, value, &draft->spec->limits);
}

/* ---- what to measure ---- */

/* Call `read` for each item of a list of probes. */
static void read_list(struct parser *p, const char *key, const struct yaml_value *value,
		      struct draft_target *draft,
		      void (*read)(struct parser *, const struct yaml_value *,
				   struct draft_target *))
{
	if (value->n == 0)
		report_error(p->report, value->span, "`%s` is empty: list at least one", key);
	for (size_t i = 0; i < value->n && !p->report->full; i++) {
		if (p->draft->n_functions++ == PARSE_MAX_FUNCTIONS)
			report_error(p->report, value->items[i]->span,
				     "more than %d functions in one file", PARSE_MAX_FUNCTIONS);
		if (p->draft->n_functions > PARSE_MAX_FUNCTIONS)
			return;
		read(p, value->items[i], draft);
	}
}

static void read_functions(struct parser *p, const struct yaml_value *value, void *into)
{
	if (scalar_expect(p->report, "functions", value, YAML_LIST,
			  "a list of functions (`- symbol: …`)"))
		read_list(p, "functions", value, into, parse_function);
}

static void read_usdt(struct parser *p, const struct yaml_value *value, void *into)
{
	if (scalar_expect(p->report, "usdt", value, YAML_LIST,
			  "a list of USDT probes (`- probe: provider:name`)"))
		read_list(p, "usdt", value, into, parse_usdt);
}

/* ---- targets ---- */

static void read_target_name(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;
	const char *text;

	if (!scalar_text(p->report, "name", value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	draft->spec.name = parser_keep(p, text);
	draft->place = value->span;
}

static void read_binary(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;
	const char *text;

	if (!scalar_text(p->report, "binary", value, MAX_PATH_BYTES, &text))
		return;
	if (text[0] != '/')
		report_error(p->report, value->span,
			     "`binary` must be an absolute path, beginning with `/`");
	else if (strpbrk(text, "*?["))
		report_error(p->report, value->span,
			     "a pattern (`*`, `?`, `[`) in `binary` is not supported yet: name one "
			     "file");
	draft->spec.binary = parser_keep(p, text);
}

static void read_process(struct parser *p, const struct yaml_value *value, void *into)
{
	parse_process(p, value, into);
}

static const struct choice host_costs[] = {
	{"refuse", HOST_COST_REFUSE},
	{"allow", HOST_COST_ALLOW},
};

static void read_host_cost(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;
	int choice;

	if (scalar_choice(p->report, "host_cost", value, host_costs, N_ITEMS(host_costs), &choice))
		draft->spec.host_cost = (enum host_cost)choice;
}

static const struct field target_fields[] = {
	{.name = "name", .read = read_target_name, .required = true},
	{.name = "binary", .read = read_binary, .required = true},
	{.name = "process", .read = read_process},
	{.name = "host_cost", .read = read_host_cost},
	{.name = "functions", .read = read_functions, .any_of = true},
	{.name = "usdt", .read = read_usdt, .any_of = true},
	{.name = "library", .instead_of = "binary"},
	{.name = "debug_file"},
	{.name = "build_id"},
	{.name = "labels_from", .read = parse_labels_from},
};
static const struct schema target = {"a target", target_fields, N_ITEMS(target_fields)};

static void read_targets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;

	if (!scalar_expect(p->report, "targets", value, YAML_LIST,
			   "a list of targets (`- name: …`)"))
		return;
	if (value->n == 0)
		report_error(p->report, value->span, "`targets` is empty: list at least one");
	for (size_t i = 0; i < value->n && !p->report->full; i++) {
		const struct yaml_value *item = value->items[i];
		if (i == PARSE_MAX_TARGETS) {
			report_error(p->report, item->span, "more than %d targets in one file",
				     PARSE_MAX_TARGETS);
			return;
		}
		struct draft_target *new = vec_push(&draft->targets);
		new->place = item->span;
		new->spec.line = report_line(p->report, item->span.start);
		fields_read(&p->context, &target, item, new);
	}
}

/* ---- the file ---- */

static const struct field top_fields[] = {
	{.name = "defaults", .read = read_defaults},
	{.name = "limits", .read = read_limits},
	{.name = "targets", .read = read_targets, .required = true},
};
static const struct schema top = {"the config", top_fields, N_ITEMS(top_fields)};

void parse_tree(struct report *report, const struct yaml_tree *tree, struct draft *draft)
{
	struct parser parser = {
		.report = report,
		.arena = &draft->spec->arena,
		.draft = draft,
		.context = {.report = report, .schemas = schemas, .n_schemas = N_ITEMS(schemas)},
	};

	parser.context.parser = &parser;
	fields_read(&parser.context, &top, tree->root, draft);
}
