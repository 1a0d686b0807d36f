/*
 * What is wrong with a config file, gathered while it is read and written in one go: each fault
 * as `file:line:col: message`, the line of the file and a caret under the offending text.
 *
 * Positions are byte offsets into the text until they are written. Lines end with LF; columns
 * are 1-based and count characters (Unicode code points; a tab is one), as editors show them.
 */
#ifndef CONFIG_REPORT_H
#define CONFIG_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* Faults kept: a file with more is not mended by reading on. */
#define REPORT_MAX_FAULTS 1000

/* A stretch of the text, [start, end) in bytes. */
struct span {
	size_t start, end;
};

struct fault;

struct report {
	const char *name; /* of the file, borrowed */
	char *text;	  /* owned copy, NUL-terminated */
	size_t length;
	VEC(size_t) line_starts;
	VEC(struct fault) faults;
	size_t errors;
	bool full; /* REPORT_MAX_FAULTS reached: readers stop */
};

void report_init(struct report *report, const char *name, const char *text, size_t length);
void report_fini(struct report *report);

/* Record a fault at `span`. Everything quoted from the file goes through QUOTE. */
void report_error(struct report *report, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void report_warning(struct report *report, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a fault of the whole file, which has no position. */
void report_file_error(struct report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* 1-based line of a byte offset. */
int report_line(const struct report *report, size_t offset);
/* The file's text, borrowed, from `offset`; NUL-terminated. */
const char *report_text(const struct report *report, size_t offset);

/* Append all faults to `out`, in the order of the file, the same fault only once. */
void report_write(struct report *report, struct strbuf *out);

/*
 * `text` between back quotes, fit for a terminal: clipped, control characters and bad UTF-8
 * replaced. Lives as long as the enclosing block.
 */
#define REPORT_QUOTE_BYTES 256
#define QUOTE(text)	   report_quote((char[REPORT_QUOTE_BYTES]){0}, (text))
const char *report_quote(char *room, const char *text);

#endif
