/*
 * OpenMetrics 1.0, as github.com/prometheus/OpenMetrics has it. A counter's or an info's metadata
 * carry the name without `_total` or `_info`; `_created` is not written, because Prometheus
 * stores it as one more series.
 */
#include "render/openmetrics.h"

#include <string.h>

#include "render/escape.h"
#include "render/sample.h"

static const struct {
	const char *name, *suffix; /* suffix: of the samples, not of the metadata */
} types[] = {
	[FAMILY_COUNTER] = {"counter", "_total"},
	[FAMILY_GAUGE] = {"gauge", ""},
	[FAMILY_INFO] = {"info", "_info"},
	[FAMILY_HISTOGRAM] = {"histogram", ""},
};

/* Length of `name` without `suffix`, the whole when it does not end so. */
static size_t length_without(const char *name, const char *suffix)
{
	size_t length = strlen(name), n = strlen(suffix);

	return length > n && !strcmp(name + length - n, suffix) ? length - n : length;
}

/* The format forbids a unit that the name does not end with. */
static int has_unit(const struct family *family, size_t name_length)
{
	size_t n = family->unit ? strlen(family->unit) : 0;

	return n > 0 && name_length > n + 1 && family->name[name_length - n - 1] == '_' &&
	       !strncmp(family->name + name_length - n, family->unit, n);
}

static void put_metadata(struct strbuf *out, const struct family *family)
{
	int length = (int)length_without(family->name, types[family->type].suffix);

	strbuf_printf(out, "# TYPE %.*s %s\n", length, family->name, types[family->type].name);
	if (has_unit(family, (size_t)length))
		strbuf_printf(out, "# UNIT %.*s %s\n", length, family->name, family->unit);
	strbuf_printf(out, "# HELP %.*s ", length, family->name);
	escape_put_value(out, family->help);
	strbuf_putc(out, '\n');
}

void openmetrics_render(const struct snapshot *snapshot, struct strbuf *out)
{
	for (size_t i = 0; i < snapshot->n_families; i++) {
		put_metadata(out, &snapshot->families[i]);
		sample_put_family(out, &snapshot->families[i]);
	}
	strbuf_puts(out, "# EOF\n");
}
