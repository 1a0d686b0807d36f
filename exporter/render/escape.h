/* Escaping for the text formats. What is not valid UTF-8 becomes U+FFFD, one for each byte. */
#ifndef RENDER_ESCAPE_H
#define RENDER_ESCAPE_H

#include "base/strbuf.h"

/* A label's value, without the quotes around it: escapes backslash, quote and newline. HELP of
 * OpenMetrics is escaped in the same way. */
void escape_put_value(struct strbuf *out, const char *text);
/* HELP of the text format: escapes backslash and newline only. */
void escape_put_help(struct strbuf *out, const char *text);

#endif
