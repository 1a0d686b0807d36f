/*
 * Constant labels. Names follow Prometheus' data model, [a-zA-Z_][a-zA-Z0-9_]*, and stay clear of
 * those that the exporter sets and those that a scraper would overwrite.
 */
#include "config/labels.h"

#include <stdlib.h>
#include <string.h>

#include "config/scalar.h"

static const struct reserved {
	const char *name, *why;
} reserved[] = {
	{"le", "a histogram's buckets carry it"},
	{"quantile", "a summary's series carry it"},
	{"target", "the exporter sets it"},
	{"function", "the exporter sets it"},
	{"probe", "the exporter sets it"},
	{"reason", "the exporter sets it"},
	{"binary", "the exporter sets it"},
	{"build_id", "the exporter sets it"},
	{"entry_offset", "the exporter sets it"},
	{"exit_strategy", "the exporter sets it"},
	{"attach_kind", "the exporter sets it"},
	{"job", "the scraper sets it: name it in the scrape config"},
	{"instance", "the scraper sets it: name it in the scrape config"},
};

static const char *why_reserved(const char *name)
{
	if (!strncmp(name, "__", 2))
		return "names that begin with `__` are Prometheus' own";
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(reserved[i].name, name))
			return reserved[i].why;
	return NULL;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static bool is_label_name(const char *name)
{
	return *name && strchr(LETTERS, *name) && !name[strspn(name, LETTERS "0123456789")];
}

static bool good_name(struct report *report, const struct yaml_value *key)
{
	const char *why = why_reserved(key->text);

	if (why)
		report_error(report, key->span, "label name %s is reserved: %s", QUOTE(key->text),
			     why);
	else if (!is_label_name(key->text))
		report_error(report, key->span,
			     "%s is not a label name: write letters, digits and `_`, not beginning "
			     "with a digit",
			     QUOTE(key->text));
	else if (strlen(key->text) > LABELS_MAX_NAME_BYTES)
		report_error(report, key->span, "a label name is at most %d bytes long",
			     LABELS_MAX_NAME_BYTES);
	else
		return true;
	return false;
}

/* An empty label is the same as none to Prometheus. */
static bool good_value(struct report *report, const struct yaml_pair *pair, const char **text)
{
	if (!yaml_is_missing(pair->value))
		return scalar_text(report, pair->key->text, pair->value, LABELS_MAX_TEXT_BYTES,
				   text);
	report_error(report, pair->key->span, "label %s has no value", QUOTE(pair->key->text));
	return false;
}

static int by_name(const void *left, const void *right)
{
	const struct spec_label *a = left, *b = right;
	return strcmp(a->name, b->name);
}

void labels_read(struct report *report, struct arena *arena, const struct yaml_value *mapping,
		 const struct spec_label **out, size_t *n_out)
{
	if (!scalar_expect(report, "labels", mapping, YAML_MAPPING, "a mapping (`name: value`)"))
		return;
	if (mapping->n > LABELS_MAX) {
		report_error(report, mapping->span, "%zu labels: a function takes at most %d",
			     mapping->n, LABELS_MAX);
		return;
	}
	struct spec_label *labels = arena_array(arena, mapping->n, sizeof(*labels));
	size_t n = 0;
	for (size_t i = 0; i < mapping->n; i++) {
		const struct yaml_pair *pair = &mapping->pairs[i];
		const char *text = "";
		bool named = good_name(report, pair->key);
		if (named && good_value(report, pair, &text))
			labels[n++] = (struct spec_label){
				.name = arena_strdup(arena, pair->key->text),
				.value = arena_strdup(arena, text),
			};
	}
	qsort(labels, n, sizeof(*labels), by_name);
	*out = labels;
	*n_out = n;
}
