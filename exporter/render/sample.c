/* Sample lines. */
#include "render/sample.h"

#include "render/escape.h"
#include "render/number.h"

static void put_labels(struct strbuf *out, const struct series *series)
{
	for (size_t i = 0; i < series->n_labels; i++) {
		if (i > 0)
			strbuf_putc(out, ',');
		strbuf_puts(out, series->labels[i].name);
		strbuf_puts(out, "=\"");
		escape_put_value(out, series->labels[i].value);
		strbuf_putc(out, '"');
	}
}

/* `name<suffix>{labels} `, where `labels` are written already; without braces if there are none. */
static void put_series(struct strbuf *out, const char *name, const char *suffix,
		       const struct strbuf *labels)
{
	strbuf_puts(out, name);
	strbuf_puts(out, suffix);
	if (labels->length > 0) {
		strbuf_putc(out, '{');
		strbuf_add(out, labels->text, labels->length);
		strbuf_putc(out, '}');
	}
	strbuf_putc(out, ' ');
}

static void put_value(struct strbuf *out, struct value value)
{
	switch (value.kind) {
	case VALUE_U64:
		number_put_u64(out, value.u64);
		break;
	case VALUE_DOUBLE:
		number_put_double(out, value.f64);
		break;
	case VALUE_NS:
		number_put_seconds(out, value.u64);
		break;
	}
}

/* One `_bucket` line; `bound_ns` NULL is `+Inf`. */
static void put_bucket(struct strbuf *out, const char *name, const struct strbuf *labels,
		       const uint64_t *bound_ns, uint64_t count)
{
	strbuf_puts(out, name);
	strbuf_puts(out, "_bucket{");
	if (labels->length > 0) {
		strbuf_add(out, labels->text, labels->length);
		strbuf_putc(out, ',');
	}
	strbuf_puts(out, "le=\"");
	if (bound_ns)
		number_put_le(out, *bound_ns);
	else
		strbuf_puts(out, "+Inf");
	strbuf_puts(out, "\"} ");
	number_put_u64(out, count);
	strbuf_putc(out, '\n');
}

static void put_histogram(struct strbuf *out, const char *name, const struct strbuf *labels,
			  const struct histogram *histogram)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= histogram->n_bounds; i++) {
		count += histogram->bucket[i];
		put_bucket(out, name, labels,
			   i < histogram->n_bounds ? &histogram->bound_ns[i] : NULL, count);
	}
	put_series(out, name, "_sum", labels);
	number_put_seconds(out, histogram->sum_ns);
	strbuf_putc(out, '\n');
	put_series(out, name, "_count", labels);
	number_put_u64(out, count);
	strbuf_putc(out, '\n');
}

void sample_put_family(struct strbuf *out, const struct family *family)
{
	struct strbuf labels;

	strbuf_init(&labels);
	for (size_t i = 0; i < family->n_series; i++) {
		const struct series *series = &family->series[i];
		strbuf_clear(&labels);
		put_labels(&labels, series);
		if (family->type == FAMILY_HISTOGRAM) {
			put_histogram(out, family->name, &labels, series->histogram);
			continue;
		}
		put_series(out, family->name, "", &labels);
		put_value(out, series->value);
		strbuf_putc(out, '\n');
	}
	strbuf_fini(&labels);
}
