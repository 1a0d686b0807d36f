/*
 * libyaml's events → a tree of values. The builder keeps its own stack of open collections, so
 * nothing here recurses, and expands no alias: an alias is a copy of one value that shares the
 * parts of the original. What aliases stand for is counted, so that readers of the tree are
 * bounded as well.
 */
#include "config/yaml.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "config/encoding.h"
#include "config/syntax.h"

struct anchor {
	const char *name;
	const struct yaml_value *value; /* NULL while the collection is open */
};

/* A collection whose end is not seen yet; of a mapping, parts are keys and values in turn. */
struct open {
	struct yaml_value *value;
	bool flow;
	ssize_t anchor; /* index, -1 for none */
	VEC(struct yaml_value *) parts;
};

struct builder {
	struct yaml_tree *tree;
	struct report *report;
	yaml_parser_t parser;
	size_t *offsets; /* byte offset of every CHARS_A_STEP-th character */
	struct open stack[YAML_MAX_NESTING];
	int depth;
	VEC(struct anchor) anchors;
	size_t aliases, expanded, documents;
};

/* ---- positions ---- */

/* libyaml counts characters; the report wants bytes. */
#define CHARS_A_STEP 64

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static void index_characters(struct builder *b)
{
	const struct report *report = b->report;
	size_t chars = 0;

	b->offsets = alloc_zero(report->length / CHARS_A_STEP + 1, sizeof(*b->offsets));
	for (size_t i = 0; i < report->length; i++)
		if (begins_character(report->text[i]) && chars++ % CHARS_A_STEP == 0)
			b->offsets[(chars - 1) / CHARS_A_STEP] = i;
}

static size_t offset_of(const struct builder *b, const yaml_mark_t *mark)
{
	const struct report *report = b->report;
	size_t step = mark->index / CHARS_A_STEP, left = mark->index % CHARS_A_STEP;

	if (mark->index >= report->length)
		return report->length;
	size_t offset = b->offsets[step];
	if (step && !offset)
		return report->length;
	while (offset < report->length && left--)
		do
			offset++;
		while (offset < report->length && !begins_character(report->text[offset]));
	return offset;
}

/* Without the anchor before it, which libyaml counts in. */
static struct span span_of(const struct builder *b, const yaml_event_t *event)
{
	struct span span = {offset_of(b, &event->start_mark), offset_of(b, &event->end_mark)};
	const char *text = b->report->text;
	size_t at = span.start;

	if (event->type == YAML_ALIAS_EVENT || text[at] != '&')
		return span;
	at += strcspn(text + at, " \t\n");
	at += strspn(text + at, " \t");
	if (text[at] && !strchr("\r\n#", text[at]))
		span.start = at;
	if (span.end < span.start)
		span.end = span.start;
	return span;
}

static bool same_line(const struct builder *b, size_t from, size_t to)
{
	return to <= from || !memchr(b->report->text + from, '\n', to - from);
}

/* A collection is marked from its start as far as its first line reaches. */
static void close_span(const struct builder *b, const struct open *open, const yaml_event_t *event)
{
	struct span *span = &open->value->span;
	size_t end = offset_of(b, &event->end_mark);

	if (open->flow && end > span->start && same_line(b, span->start, end)) {
		span->end = end;
		return;
	}
	for (size_t i = 0; i < open->parts.n; i++) {
		const struct span *part = &open->parts.at[i]->span;
		if (part->start < span->end || !same_line(b, span->end, part->start))
			continue;
		const char *eol =
			memchr(b->report->text + part->start, '\n', part->end - part->start);
		span->end = eol ? (size_t)(eol - b->report->text) : part->end;
		if (eol)
			return;
	}
}

/* ---- values ---- */

static struct yaml_value *new_value(struct builder *b, enum yaml_kind kind, struct span span)
{
	struct yaml_value *value = arena_alloc(&b->tree->arena, sizeof(*value));

	value->kind = kind;
	value->span = span;
	value->expanded = 1;
	value->text = "";
	return value;
}

static void add_value(struct builder *b, struct yaml_value *value)
{
	if (b->depth)
		*vec_push(&b->stack[b->depth - 1].parts) = value;
	else
		b->tree->root = value;
}

static int too_many(struct builder *b, struct span span, const char *what, size_t limit)
{
	report_error(b->report, span, "more than %zu %s in one file", limit, what);
	return -EINVAL;
}

/* Remember `name`; its index in *anchor, or -1 when there is none. */
static int take_anchor(struct builder *b, const yaml_char_t *name, struct span span,
		       const struct yaml_value *value, ssize_t *anchor)
{
	*anchor = -1;
	if (!name)
		return 0;
	if (b->anchors.n == YAML_MAX_ANCHORS)
		return too_many(b, span, "anchors (`&name`)", YAML_MAX_ANCHORS);
	*anchor = (ssize_t)b->anchors.n;
	*vec_push(&b->anchors) = (struct anchor){
		.name = arena_strdup(&b->tree->arena, (const char *)name),
		.value = value,
	};
	return 0;
}

static void refuse_tag(struct builder *b, const yaml_char_t *tag, struct span span)
{
	if (tag)
		report_error(
			b->report, span,
			"tags (`!…`) are not supported: to make a value text, put it in quotes");
}

static int take_scalar(struct builder *b, const yaml_event_t *event)
{
	struct span span = span_of(b, event);
	struct yaml_value *value = new_value(b, YAML_SCALAR, span);
	const char *text = (const char *)event->data.scalar.value;
	ssize_t anchor;

	refuse_tag(b, event->data.scalar.tag, span);
	/* A tag is refused once; that its value is no text without quotes needs no saying. */
	value->quoted =
		event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || event->data.scalar.tag;
	value->text = arena_strndup(&b->tree->arena, text, event->data.scalar.length);
	if (strlen(value->text) != event->data.scalar.length) {
		report_error(b->report, span, "text cannot hold a NUL character (\\0)");
		value->kind = YAML_BROKEN;
	}
	add_value(b, value);
	return take_anchor(b, event->data.scalar.anchor, span, value, &anchor);
}

static int too_deep(struct builder *b, struct span span)
{
	report_error(b->report, span, "nested too deeply: at most %d levels", YAML_MAX_NESTING);
	return -EINVAL;
}

static const struct anchor *find_anchor(const struct builder *b, const char *name)
{
	for (size_t i = b->anchors.n; i-- > 0;) /* the last one of a name counts */
		if (!strcmp(b->anchors.at[i].name, name))
			return &b->anchors.at[i];
	return NULL;
}

static void broken_alias(struct builder *b, struct span span, const char *name, bool within)
{
	report_error(b->report, span,
		     within ? "alias %s is used within its own anchor"
			    : "no anchor for alias %s before this line",
		     QUOTE(name));
	add_value(b, new_value(b, YAML_BROKEN, span));
}

static int take_alias(struct builder *b, const yaml_event_t *event)
{
	struct span span = span_of(b, event);
	const char *name = (const char *)event->data.alias.anchor;
	const struct anchor *anchor = find_anchor(b, name);

	if (++b->aliases > YAML_MAX_ALIASES)
		return too_many(b, span, "aliases (`*name`)", YAML_MAX_ALIASES);
	if (!anchor || !anchor->value) {
		broken_alias(b, span, name, anchor != NULL);
		return 0;
	}
	b->expanded += anchor->value->expanded;
	if (b->expanded > YAML_MAX_EXPANDED)
		return too_many(b, span, "values behind aliases (`*name`)", YAML_MAX_EXPANDED);
	if (b->depth + anchor->value->height > YAML_MAX_NESTING)
		return too_deep(b, span);
	struct yaml_value *value = new_value(b, anchor->value->kind, span);
	*value = *anchor->value;
	value->span = span;
	add_value(b, value);
	return 0;
}

static int open_collection(struct builder *b, const yaml_event_t *event, enum yaml_kind kind,
			   const yaml_char_t *name, bool flow)
{
	struct span span = span_of(b, event);
	ssize_t anchor;
	int rc = take_anchor(b, name, span, NULL, &anchor);

	if (rc)
		return rc;
	if (b->depth == YAML_MAX_NESTING)
		return too_deep(b, span);
	struct open *open = &b->stack[b->depth++];
	open->value = new_value(b, kind, span);
	open->flow = flow;
	open->anchor = anchor;
	open->parts.n = 0;
	return 0;
}

static int open_list(struct builder *b, const yaml_event_t *event)
{
	refuse_tag(b, event->data.sequence_start.tag, span_of(b, event));
	return open_collection(b, event, YAML_LIST, event->data.sequence_start.anchor,
			       event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
}

static int open_mapping(struct builder *b, const yaml_event_t *event)
{
	refuse_tag(b, event->data.mapping_start.tag, span_of(b, event));
	return open_collection(b, event, YAML_MAPPING, event->data.mapping_start.anchor,
			       event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
}

/* ---- keys ---- */

static bool good_key(struct builder *b, const struct yaml_value *key)
{
	if (key->kind == YAML_BROKEN)
		return false;
	if (key->kind != YAML_SCALAR)
		report_error(b->report, key->span, "a key must be plain text, not %s",
			     key->kind == YAML_LIST ? "a list" : "a mapping");
	else if (!*key->text)
		report_error(b->report, key->span, "a key is missing before the `:`");
	else if (!key->quoted && !strcmp(key->text, "<<"))
		report_error(b->report, key->span,
			     "merge keys (`<<`) are not supported: "
			     "write the keys out, or use an alias as a whole value");
	else
		return true;
	return false;
}

static int by_key(const void *left, const void *right)
{
	const struct yaml_value *const *a = left, *const *b = right;
	int order = strcmp((*a)->text, (*b)->text);

	if (order)
		return order;
	return ((*a)->span.start > (*b)->span.start) - ((*a)->span.start < (*b)->span.start);
}

/* The second and later of equal keys become YAML_BROKEN. */
static void find_duplicates(struct builder *b, struct yaml_value **keys, size_t n)
{
	qsort(keys, n, sizeof(*keys), by_key);
	for (size_t i = 1, first = 0; i < n; i++) {
		if (strcmp(keys[i]->text, keys[first]->text) != 0) {
			first = i;
			continue;
		}
		report_error(b->report, keys[i]->span, "duplicate key %s: it is already on line %d",
			     QUOTE(keys[i]->text), report_line(b->report, keys[first]->span.start));
		keys[i]->kind = YAML_BROKEN;
	}
}

static void close_mapping(struct builder *b, struct open *open)
{
	struct yaml_value *value = open->value;
	struct yaml_pair *pairs = arena_array(&b->tree->arena, open->parts.n / 2, sizeof(*pairs));
	VEC(struct yaml_value *) keys = {0};

	for (size_t i = 0; i + 1 < open->parts.n; i += 2)
		if (good_key(b, open->parts.at[i]))
			*vec_push(&keys) = open->parts.at[i];
		else
			open->parts.at[i]->kind = YAML_BROKEN;
	if (keys.n > 1)
		find_duplicates(b, keys.at, keys.n);
	vec_fini(&keys);
	for (size_t i = 0; i + 1 < open->parts.n; i += 2)
		if (open->parts.at[i]->kind != YAML_BROKEN)
			pairs[value->n++] =
				(struct yaml_pair){open->parts.at[i], open->parts.at[i + 1]};
	value->pairs = pairs;
}

static void close_list(struct builder *b, struct open *open)
{
	const struct yaml_value **items =
		arena_array(&b->tree->arena, open->parts.n, sizeof(*items));

	for (size_t i = 0; i < open->parts.n; i++)
		items[i] = open->parts.at[i];
	open->value->n = open->parts.n;
	open->value->items = items;
}

static int close_collection(struct builder *b, const yaml_event_t *event)
{
	struct open *open = &b->stack[--b->depth];
	struct yaml_value *value = open->value;

	close_span(b, open, event);
	for (size_t i = 0; i < open->parts.n; i++) {
		value->expanded += open->parts.at[i]->expanded;
		if (open->parts.at[i]->height > value->height)
			value->height = open->parts.at[i]->height;
	}
	value->height++;
	if (value->kind == YAML_MAPPING)
		close_mapping(b, open);
	else
		close_list(b, open);
	if (open->anchor >= 0)
		b->anchors.at[open->anchor].value = value;
	add_value(b, value);
	return 0;
}

/* ---- events ---- */

static int start_document(struct builder *b, const yaml_event_t *event)
{
	if (b->documents++ == 0)
		return 0;
	report_error(b->report, span_of(b, event), "a second document: a config is one document");
	return -EINVAL;
}

static int (*const takers[])(struct builder *, const yaml_event_t *) = {
	[YAML_DOCUMENT_START_EVENT] = start_document,
	[YAML_ALIAS_EVENT] = take_alias,
	[YAML_SCALAR_EVENT] = take_scalar,
	[YAML_SEQUENCE_START_EVENT] = open_list,
	[YAML_SEQUENCE_END_EVENT] = close_collection,
	[YAML_MAPPING_START_EVENT] = open_mapping,
	[YAML_MAPPING_END_EVENT] = close_collection,
};

static int syntax_error(struct builder *b)
{
	const yaml_parser_t *parser = &b->parser;

	if (parser->error == YAML_MEMORY_ERROR)
		alloc_failed();
	struct syntax_fault fault = {
		.problem = parser->problem,
		.context = parser->context,
		.at = offset_of(b, &parser->problem_mark),
		.context_at = offset_of(b, &parser->context_mark),
	};
	syntax_report(b->report, &fault);
	return -EINVAL;
}

static int take_events(struct builder *b)
{
	int rc = 0, last = 0;

	while (!rc && !last) {
		yaml_event_t event;

		if (!yaml_parser_parse(&b->parser, &event))
			return syntax_error(b);
		last = event.type == YAML_STREAM_END_EVENT;
		if (event.type < sizeof(takers) / sizeof(takers[0]) && takers[event.type])
			rc = takers[event.type](b, &event);
		yaml_event_delete(&event);
	}
	return rc;
}

static int build(struct builder *b)
{
	if (!yaml_parser_initialize(&b->parser))
		alloc_failed();
	yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b->parser, (const unsigned char *)b->report->text,
				     b->report->length);
	index_characters(b);
	int rc = take_events(b);
	yaml_parser_delete(&b->parser);
	free(b->offsets);
	for (int i = 0; i < YAML_MAX_NESTING; i++)
		vec_fini(&b->stack[i].parts);
	vec_fini(&b->anchors);
	return rc;
}

int yaml_tree_read(struct yaml_tree *tree, struct report *report)
{
	struct builder builder = {.tree = tree, .report = report};
	int rc;

	arena_init(&tree->arena);
	tree->root = NULL;
	if (report->length > YAML_MAX_BYTES) {
		report_file_error(report, "larger than a config may be (%zu bytes)",
				  YAML_MAX_BYTES);
		return -EINVAL;
	}
	if ((rc = encoding_check(report)) || (rc = build(&builder)))
		return rc;
	if (tree->root && !yaml_is_missing(tree->root))
		return 0;
	report_error(report, (struct span){0, 0}, "the file is empty: `targets` is required");
	return -EINVAL;
}

void yaml_tree_fini(struct yaml_tree *tree)
{
	arena_fini(&tree->arena);
	tree->root = NULL;
}

bool yaml_is_missing(const struct yaml_value *value)
{
	return value->kind == YAML_SCALAR && !value->quoted && !*value->text;
}

const char *yaml_describe(char *room, const struct yaml_value *value)
{
	switch (value->kind) {
	case YAML_LIST:
		return "a list";
	case YAML_MAPPING:
		return "a mapping";
	case YAML_SCALAR:
		if (!*value->text)
			return value->quoted ? "empty text" : "nothing";
		return report_quote(room, value->text);
	case YAML_BROKEN:
		break;
	}
	return "something broken";
}
