/* Mappings with known keys. */
#include "config/fields.h"

#include <string.h>

#include "config/suggest.h"

static int find(const struct schema *schema, const char *name)
{
	for (size_t i = 0; i < schema->n; i++)
		if (!strcmp(schema->fields[i].name, name))
			return (int)i;
	return -1;
}

/* ---- unknown keys ---- */

static int nearest(const struct schema *schema, const char *written)
{
	const char *names[FIELDS_MAX] = {NULL};
	size_t index[FIELDS_MAX] = {0}, n = 0;

	for (int supported = 1; supported >= 0; supported--) /* of equals the supported one */
		for (size_t i = 0; i < schema->n; i++)
			if ((schema->fields[i].read != NULL) == supported) {
				names[n] = schema->fields[i].name;
				index[n++] = i;
			}
	int found = suggest_nearest(written, names, n);
	return found < 0 ? -1 : (int)index[found];
}

static void add_homes(struct strbuf *out, const struct fields_context *context, const char *name)
{
	const char *before = "; it belongs in ";

	for (size_t i = 0; i < context->n_schemas; i++) {
		int field = find(context->schemas[i], name);
		if (field < 0 || !context->schemas[i]->fields[field].read)
			continue;
		strbuf_printf(out, "%s%s", before, context->schemas[i]->what);
		before = " or ";
	}
}

static void add_known(struct strbuf *out, const struct schema *schema)
{
	const char *before = "; known are ";

	for (size_t i = 0; i < schema->n; i++) {
		if (!schema->fields[i].read)
			continue;
		strbuf_printf(out, "%s`%s`", before, schema->fields[i].name);
		before = ", ";
	}
}

/* Index of the key that was meant, if that can be told. */
static int unknown_key(const struct fields_context *context, const struct schema *schema,
		       const struct yaml_value *key)
{
	struct strbuf message;
	int meant = nearest(schema, key->text);

	strbuf_init(&message);
	strbuf_printf(&message, "unknown key %s in %s", QUOTE(key->text), schema->what);
	size_t bare = message.length;
	add_homes(&message, context, key->text);
	if (message.length == bare && meant >= 0)
		strbuf_printf(&message, "; did you mean `%s`%s?", schema->fields[meant].name,
			      schema->fields[meant].read ? "" : " (not supported yet)");
	else if (message.length == bare)
		add_known(&message, schema);
	else
		meant = -1;
	report_error(context->report, key->span, "%s", strbuf_text(&message));
	strbuf_fini(&message);
	return meant;
}

/* ---- reading ---- */

static void mark(bool *seen, const struct schema *schema, int field)
{
	if (field < 0)
		return;
	seen[field] = true;
	const char *replaced = schema->fields[field].instead_of;
	if (replaced)
		seen[find(schema, replaced)] = true;
}

static void read_pair(const struct fields_context *context, const struct schema *schema,
		      const struct yaml_pair *pair, bool *seen, void *into)
{
	int i = find(schema, pair->key->text);

	if (i < 0) {
		mark(seen, schema, unknown_key(context, schema, pair->key));
		return;
	}
	mark(seen, schema, i);
	if (!schema->fields[i].read)
		report_error(context->report, pair->key->span, "`%s` is not supported yet",
			     schema->fields[i].name);
	else if (yaml_is_missing(pair->value))
		report_error(context->report, pair->key->span, "`%s` has no value",
			     schema->fields[i].name);
	else if (pair->value->kind != YAML_BROKEN)
		schema->fields[i].read(context->parser, pair->value, into);
}

static bool is_one_of(const struct field *field)
{
	return field->one_of;
}

static bool is_any_of(const struct field *field)
{
	return field->any_of;
}

/* "`a`, `b` or `c`": the keys of which one must be there. */
static void add_alternatives(struct strbuf *out, const struct schema *schema,
			     bool (*belongs)(const struct field *))
{
	size_t n = 0, listed = 0;

	for (size_t i = 0; i < schema->n; i++)
		n += belongs(&schema->fields[i]);
	for (size_t i = 0; i < schema->n; i++) {
		if (!belongs(&schema->fields[i]))
			continue;
		strbuf_puts(out, listed == 0 ? "" : listed + 1 == n ? " or " : ", ");
		strbuf_printf(out, "`%s`", schema->fields[i].name);
		listed++;
	}
}

/* Tell that none of the keys is there of which one must be, or was at least meant. */
static void expect_some(const struct fields_context *context, const struct schema *schema,
			const struct yaml_value *mapping, const bool *seen,
			bool (*belongs)(const struct field *))
{
	struct strbuf message;
	bool wanted = false, meant = false;

	for (size_t i = 0; i < schema->n; i++) {
		wanted |= belongs(&schema->fields[i]);
		meant |= belongs(&schema->fields[i]) && seen[i];
	}
	if (!wanted || meant)
		return;
	strbuf_init(&message);
	strbuf_printf(&message, "%s needs one of the keys ", schema->what);
	add_alternatives(&message, schema, belongs);
	report_error(context->report, mapping->span, "%s", strbuf_text(&message));
	strbuf_fini(&message);
}

/* Tell of each of the keys that exclude each other but the first. */
static void check_alternatives(const struct fields_context *context, const struct schema *schema,
			       const struct yaml_value *mapping)
{
	const char *first = NULL;

	for (size_t i = 0; i < mapping->n && !context->report->full; i++) {
		const struct yaml_value *key = mapping->pairs[i].key;
		int field = find(schema, key->text);
		if (field < 0 || !schema->fields[field].one_of)
			continue;
		if (first)
			report_error(context->report, key->span,
				     "`%s` and `%s` exclude each other: %s has one of them", first,
				     key->text, schema->what);
		else
			first = key->text;
	}
}

static void check_required(const struct fields_context *context, const struct schema *schema,
			   const struct yaml_value *mapping, const bool *seen)
{
	check_alternatives(context, schema, mapping);
	for (size_t i = 0; i < schema->n; i++)
		if (schema->fields[i].required && !seen[i])
			report_error(context->report, mapping->span, "%s needs the key `%s`",
				     schema->what, schema->fields[i].name);
	expect_some(context, schema, mapping, seen, is_one_of);
	expect_some(context, schema, mapping, seen, is_any_of);
}

static bool expect_mapping(struct report *report, const struct schema *schema,
			   const struct yaml_value *value)
{
	if (value->kind != YAML_MAPPING && value->kind != YAML_BROKEN)
		report_error(report, value->span, "%s must be a mapping (`key: value`), not %s",
			     schema->what, yaml_describe((char[REPORT_QUOTE_BYTES]){0}, value));
	return value->kind == YAML_MAPPING;
}

void fields_read(const struct fields_context *context, const struct schema *schema,
		 const struct yaml_value *mapping, void *into)
{
	bool seen[FIELDS_MAX] = {false};

	if (!expect_mapping(context->report, schema, mapping))
		return;
	for (size_t i = 0; i < mapping->n && !context->report->full; i++)
		read_pair(context, schema, &mapping->pairs[i], seen, into);
	check_required(context, schema, mapping, seen);
}
