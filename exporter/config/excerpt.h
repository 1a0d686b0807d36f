/*
 * A line of the config with a caret line under the offending text, fit for a terminal: tabs and
 * wide characters do not misplace the caret, long lines are clipped around it, control
 * characters and bad UTF-8 are shown as U+FFFD.
 */
#ifndef CONFIG_EXCERPT_H
#define CONFIG_EXCERPT_H

#include <stddef.h>

#include "base/strbuf.h"

/*
 * Append the line of text[0..length) that holds the byte `start`, and a second with `^~~~` under
 * [start, end), cut at the end of the line. Nothing when the line is blank. `text` is
 * NUL-terminated.
 */
void excerpt_put(struct strbuf *out, const char *text, size_t length, size_t start, size_t end);

/* Bytes of the printable character at NUL-terminated `text`; 0 if it is none. */
size_t excerpt_printable(const char *text);

#endif
