/* A name in a hostile file must not move the cursor. */
#include "printable.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

void printable_put(struct strbuf *out, const char *text)
{
	while (*text) {
		unsigned char c = (unsigned char)*text;
		size_t length = utf8_sequence(text);
		/* C1 controls are U+0080 to U+009F: 0xc2 0x80 to 0xc2 0x9f. */
		bool control = c < 0x20 || c == 0x7f ||
			       (c == 0xc2 && length == 2 && (unsigned char)text[1] < 0xa0);
		if (length && !control) {
			strbuf_add(out, text, length);
			text += length;
			continue;
		}
		if (c == '\n')
			strbuf_puts(out, "\\n");
		else if (c == '\t')
			strbuf_puts(out, "\\t");
		else
			strbuf_printf(out, "\\x%02x", c);
		text++;
	}
}

void printable_complain(const char *text)
{
	struct strbuf line;

	strbuf_init(&line);
	printable_put(&line, text);
	fprintf(stderr, "uprobe_exporter: %s\n", strbuf_text(&line));
	strbuf_fini(&line);
}
