/* Faults of a config file, gathered and written with excerpts (excerpt.c). */
#include "config/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "config/excerpt.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

struct fault {
	struct span span;
	bool nowhere; /* about the whole file */
	enum severity severity;
	size_t order; /* in which it was found */
	char *message;
};

/* A walk through the text, from fault to fault: long lines are counted once only. */
struct cursor {
	size_t offset;
	int line, col;
};

static void find_lines(struct report *report)
{
	*vec_push(&report->line_starts) = 0;
	for (size_t i = 0; i < report->length; i++)
		if (report->text[i] == '\n')
			*vec_push(&report->line_starts) = i + 1;
}

void report_init(struct report *report, const char *name, const char *text, size_t length)
{
	memset(report, 0, sizeof(*report));
	report->name = name;
	report->text = alloc_zero(length + 1, 1);
	if (length)
		memcpy(report->text, text, length);
	report->length = length;
	find_lines(report);
}

void report_fini(struct report *report)
{
	for (size_t i = 0; i < report->faults.n; i++)
		free(report->faults.at[i].message);
	vec_fini(&report->faults);
	vec_fini(&report->line_starts);
	free(report->text);
	memset(report, 0, sizeof(*report));
}

__attribute__((format(printf, 4, 0))) static struct fault *
add(struct report *report, enum severity severity, struct span span, const char *fmt, va_list args)
{
	char *message;

	if (severity == SEVERITY_ERROR)
		report->errors++;
	if (report->faults.n == REPORT_MAX_FAULTS) {
		report->full = true;
		return NULL;
	}
	if (vasprintf(&message, fmt, args) < 0)
		alloc_failed();
	struct fault *fault = vec_push(&report->faults);
	fault->span = span;
	fault->severity = severity;
	fault->order = report->faults.n;
	fault->message = message;
	return fault;
}

void report_error(struct report *report, struct span span, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(report, SEVERITY_ERROR, span, fmt, args);
	va_end(args);
}

void report_warning(struct report *report, struct span span, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(report, SEVERITY_WARNING, span, fmt, args);
	va_end(args);
}

void report_file_error(struct report *report, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	struct fault *fault = add(report, SEVERITY_ERROR, (struct span){0, 0}, fmt, args);
	va_end(args);
	if (fault)
		fault->nowhere = true;
}

int report_line(const struct report *report, size_t offset)
{
	size_t low = 0, high = report->line_starts.n;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (report->line_starts.at[mid] <= offset)
			low = mid;
		else
			high = mid;
	}
	return (int)low + 1;
}

const char *report_text(const struct report *report, size_t offset)
{
	return report->text + (offset < report->length ? offset : report->length);
}

static int by_position(const void *left, const void *right)
{
	const struct fault *a = left, *b = right;

	if (a->nowhere != b->nowhere)
		return a->nowhere ? -1 : 1;
	if (a->span.start != b->span.start)
		return a->span.start < b->span.start ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Whether an earlier fault at the same place says the same: an alias shows a mistake again. */
static bool said_before(const struct report *report, size_t i)
{
	const struct fault *fault = &report->faults.at[i];

	for (size_t j = i; j-- > 0;) {
		const struct fault *earlier = &report->faults.at[j];
		if (earlier->nowhere != fault->nowhere || earlier->span.start != fault->span.start)
			return false;
		if (!strcmp(earlier->message, fault->message))
			return true;
	}
	return false;
}

static void advance(struct cursor *cursor, const struct report *report, size_t to)
{
	while (cursor->offset < to && cursor->offset < report->length) {
		const char *at = report->text + cursor->offset;
		size_t length = utf8_sequence(at);
		if (*at == '\n') {
			cursor->line++;
			cursor->col = 0;
		}
		cursor->col++;
		cursor->offset += length ? length : 1;
	}
}

static void put_fault(struct strbuf *out, const struct report *report, const struct fault *fault,
		      struct cursor *cursor)
{
	const char *severity = fault->severity == SEVERITY_WARNING ? "warning: " : "";

	if (fault->nowhere) {
		strbuf_printf(out, "%s: %s%s\n", report->name, severity, fault->message);
		return;
	}
	advance(cursor, report, fault->span.start);
	strbuf_printf(out, "%s:%d:%d: %s%s\n", report->name, cursor->line, cursor->col, severity,
		      fault->message);
	excerpt_put(out, report->text, report->length, fault->span.start, fault->span.end);
}

void report_write(struct report *report, struct strbuf *out)
{
	struct cursor cursor = {.line = 1, .col = 1};

	if (report->faults.n)
		qsort(report->faults.at, report->faults.n, sizeof(*report->faults.at), by_position);
	for (size_t i = 0; i < report->faults.n; i++)
		if (!said_before(report, i))
			put_fault(out, report, &report->faults.at[i], &cursor);
	if (report->full)
		strbuf_printf(out, "%s: too many faults: only the first %d are shown\n",
			      report->name, REPORT_MAX_FAULTS);
}

#define QUOTE_CHARS 40 /* of at most 4 bytes, and the quotes and dots */

const char *report_quote(char *room, const char *text)
{
	char *end = room;

	*end++ = '`';
	for (int n = 0; *text; n++) {
		if (n == QUOTE_CHARS) {
			end = stpcpy(end, "…");
			break;
		}
		size_t length = excerpt_printable(text);
		if (length) {
			memcpy(end, text, length);
			end += length;
		} else {
			end = stpcpy(end, UTF8_REPLACEMENT);
			length = utf8_sequence(text);
		}
		text += length ? length : 1;
	}
	*end++ = '`';
	*end = '\0';
	return room;
}
