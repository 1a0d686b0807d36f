/* Escaping for the text formats. */
#include "render/escape.h"

#include <string.h>

#include "base/utf8.h"

static void put(struct strbuf *out, const char *text, const char *escaped)
{
	while (*text) {
		size_t plain = 0, length = 1;

		/* Runs of plain text go in one piece. */
		while (text[plain] && !strchr(escaped, text[plain]) &&
		       (length = utf8_sequence(text + plain)) > 0)
			plain += length;
		strbuf_add(out, text, plain);
		text += plain;
		if (!*text)
			return;
		if (length == 0)
			strbuf_puts(out, UTF8_REPLACEMENT);
		else {
			strbuf_putc(out, '\\');
			strbuf_putc(out, *text == '\n' ? 'n' : *text);
		}
		text++;
	}
}

void escape_put_value(struct strbuf *out, const char *text)
{
	put(out, text, "\\\"\n");
}

void escape_put_help(struct strbuf *out, const char *text)
{
	put(out, text, "\\\n");
}
