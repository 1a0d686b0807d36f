/*
 * The text format 0.0.4, as prometheus.io/docs/instrumenting/exposition_formats has it. It has no
 * info type and no units: an info is a gauge, and metadata carry the name of the samples.
 */
#include "render/prom.h"

#include "render/escape.h"
#include "render/sample.h"

static const char *const type_names[] = {
	[FAMILY_COUNTER] = "counter",
	[FAMILY_GAUGE] = "gauge",
	[FAMILY_INFO] = "gauge",
	[FAMILY_HISTOGRAM] = "histogram",
};

static void put_metadata(struct strbuf *out, const struct family *family)
{
	strbuf_printf(out, "# HELP %s ", family->name);
	escape_put_help(out, family->help);
	strbuf_printf(out, "\n# TYPE %s %s\n", family->name, type_names[family->type]);
}

void prom_render(const struct snapshot *snapshot, struct strbuf *out)
{
	for (size_t i = 0; i < snapshot->n_families; i++) {
		put_metadata(out, &snapshot->families[i]);
		sample_put_family(out, &snapshot->families[i]);
	}
}
