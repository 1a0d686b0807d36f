/*
 * The config's keys. Each mapping of the file is one table below; what the design has and this
 * release has not is in the tables without a reader, so that it is named and not unknown.
 */
#include "config/parse.h"

#include <string.h>

#include "base/glob.h"
#include "bpf/contract.h"
#include "config/buckets.h"
#include "config/fields.h"
#include "config/labels.h"
#include "config/scalar.h"

#define N_ITEMS(a)	 (sizeof(a) / sizeof((a)[0]))

#define MAX_PATH_BYTES	 4095 /* PATH_MAX less the NUL */
#define MAX_SYMBOL_BYTES 4096
#define MAX_PID		 4194304 /* PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h) */
#define MAX_SERIES	 131072	 /* PARSE_MAX_FUNCTIONS, two slots each */
#define MAX_IN_FLIGHT	 16777216
#define MAX_PROGRAMS	 65536
#define MAX_MATCHES	 65536

struct parser {
	struct fields_context context;
	struct report *report;
	struct arena *arena; /* the spec's */
	struct draft *draft;
};

static const struct schema top, defaults, limits, target, process, function;
static const struct schema *const schemas[] = {&top,	&defaults, &limits,
					       &target, &process,  &function};

static char *keep(struct parser *p, const char *text)
{
	return arena_strdup(p->arena, text);
}

/* ---- shared by defaults and functions ---- */

static const struct choice exits[] = {
	{"auto", EXIT_AUTO},
	{"uretprobe", EXIT_URETPROBE},
	{"return-sites", EXIT_RETURN_SITES},
	{"none", EXIT_NONE},
};

static bool read_exit(struct parser *p, const struct yaml_value *value, enum exit_mode *exit)
{
	int choice;

	if (!scalar_choice(p->report, "exit", value, exits, N_ITEMS(exits), &choice))
		return false;
	*exit = (enum exit_mode)choice;
	return true;
}

/* ---- defaults ---- */

static void read_default_buckets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	buckets_read(p->report, p->arena, value, &draft->buckets);
}

static void read_default_exit(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	read_exit(p, value, &draft->exit);
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

static void read_limit(struct parser *p, const char *key, const struct yaml_value *value,
		       uint64_t high, uint32_t *limit)
{
	uint64_t n;

	if (scalar_integer(p->report, key, value, 1, high, &n))
		*limit = (uint32_t)n;
}

static void read_series(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	read_limit(p, "series", value, MAX_SERIES, &spec->series);
}

static void read_in_flight(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	read_limit(p, "in_flight", value, MAX_IN_FLIGHT, &spec->in_flight);
}

static void read_shards(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	read_limit(p, "shards", value, UP_MAX_SHARDS, &spec->shards);
}

static void read_host_programs(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_limits *spec = into;
	read_limit(p, "host_programs", value, MAX_PROGRAMS, &spec->host_programs);
}

static const struct field limit_fields[] = {
	{.name = "series", .read = read_series},
	{.name = "in_flight", .read = read_in_flight},
	{.name = "shards", .read = read_shards},
	{.name = "host_programs", .read = read_host_programs},
};
static const struct schema limits = {"`limits`", limit_fields, N_ITEMS(limit_fields)};

static void read_limits(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft *draft = into;
	fields_read(&p->context, &limits, value, &draft->spec->limits);
}

/* ---- functions ---- */

static void read_symbol(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	const char *text;

	if (!scalar_text(p->report, "symbol", value, MAX_SYMBOL_BYTES, &text))
		return;
	draft->spec.symbol = keep(p, text);
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
	draft->spec.symbol = keep(p, text);
	draft->place = value->span;
}

static void read_max(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	draft->max_place = value->span;
	read_limit(p, "max", value, MAX_MATCHES, &draft->spec.max);
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

static void read_function_name(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	const char *text;

	draft->name_place = value->span;
	if (!scalar_text(p->report, "name", value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	draft->spec.label = keep(p, text);
	draft->place = value->span;
}

static void read_function_exit(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	draft->exit_set = read_exit(p, value, &draft->spec.exit);
}

static void read_function_buckets(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;

	buckets_read(p->report, p->arena, value, &draft->spec.buckets);
	draft->buckets_set = draft->spec.buckets.n > 0;
	draft->buckets_place = value->span;
}

static void read_labels(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_function *draft = into;
	labels_read(p->report, p->arena, value, &draft->spec.labels, &draft->spec.n_labels);
}

static const struct field function_fields[] = {
	{.name = "symbol", .read = read_symbol, .one_of = true},
	{.name = "match", .read = read_match, .one_of = true},
	{.name = "max", .read = read_max},
	{.name = "offset", .read = read_offset, .one_of = true},
	{.name = "address", .read = read_address, .one_of = true},
	{.name = "name", .read = read_function_name},
	{.name = "exit", .read = read_function_exit},
	{.name = "buckets", .read = read_function_buckets},
	{.name = "labels", .read = read_labels},
	{.name = "labels_from"},
};
static const struct schema function = {"a function", function_fields, N_ITEMS(function_fields)};

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

static bool is_set(struct span span)
{
	return span.end > span.start;
}

/* What goes with which way of naming a function. */
static void check_naming(struct parser *p, const struct draft_function *draft)
{
	bool match = draft->spec.by == BY_MATCH;

	if (match && is_set(draft->name_place))
		report_error(
			p->report, draft->name_place,
			"`name` does not go with `match`: each function is shown under its own "
			"name");
	if (!match && is_set(draft->max_place))
		report_error(p->report, draft->max_place,
			     "`max` bounds how many functions a `match` may find, and there is no "
			     "`match` here");
	if (draft->key && !match && !draft->spec.symbol && !is_set(draft->name_place))
		report_error(p->report, draft->place, "`%s` needs a `name`: the label `function`",
			     draft->key);
}

static void read_function(struct parser *p, const struct yaml_value *value,
			  struct draft_target *into)
{
	struct draft_function draft = {.place = value->span, .spec.max = SPEC_DEFAULT_MATCH_MAX};

	draft.spec.line = report_line(p->report, value->span.start);
	fields_read(&p->context, &function, value, &draft);
	check_naming(p, &draft);
	default_label(p, &draft);
	*vec_push(&into->functions) = draft;
}

static void read_functions(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;

	if (!scalar_expect(p->report, "functions", value, YAML_LIST,
			   "a list of functions (`- symbol: …`)"))
		return;
	if (value->n == 0)
		report_error(p->report, value->span, "`functions` is empty: list at least one");
	for (size_t i = 0; i < value->n && !p->report->full; i++) {
		if (p->draft->n_functions++ == PARSE_MAX_FUNCTIONS)
			report_error(p->report, value->items[i]->span,
				     "more than %d functions in one file", PARSE_MAX_FUNCTIONS);
		if (p->draft->n_functions > PARSE_MAX_FUNCTIONS)
			return;
		read_function(p, value->items[i], draft);
	}
}

/* ---- process filters ---- */

static void read_pid(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;
	uint64_t pid;

	if (value->kind == YAML_SCALAR && !value->quoted &&
	    (!strcmp(value->text, "0") || value->text[0] == '-'))
		report_error(p->report, value->span,
			     "`pid` must be a whole number from 1 to %d: to measure every process, "
			     "leave `process` out",
			     MAX_PID);
	else if (scalar_integer(p->report, "pid", value, 1, MAX_PID, &pid))
		draft->spec.pid = (pid_t)pid;
}

static const struct field process_fields[] = {
	{.name = "pid", .read = read_pid},
	{.name = "exe"},
	{.name = "comm"},
	{.name = "cmdline"},
	{.name = "cgroup"},
	{.name = "container"},
	{.name = "pod"},
};
static const struct schema process = {"`process`", process_fields, N_ITEMS(process_fields)};

static void read_process(struct parser *p, const struct yaml_value *value, void *into)
{
	if (value->kind == YAML_MAPPING && value->n == 0)
		report_error(p->report, value->span,
			     "`process` is empty: to measure every process, leave it out");
	fields_read(&p->context, &process, value, into);
}

/* ---- targets ---- */

static void read_target_name(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;
	const char *text;

	if (!scalar_text(p->report, "name", value, LABELS_MAX_TEXT_BYTES, &text))
		return;
	draft->spec.name = keep(p, text);
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
	draft->spec.binary = keep(p, text);
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
	{.name = "functions", .read = read_functions, .required = true},
	{.name = "library", .instead_of = "binary"},
	{.name = "debug_file"},
	{.name = "build_id"},
	{.name = "usdt", .instead_of = "functions"},
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
