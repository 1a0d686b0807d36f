/* JSON strings. */
#include "base/json.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

static void put_control(struct strbuf *out, unsigned char c)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	if (c < sizeof(letters) && letters[c])
		strbuf_printf(out, "\\%c", letters[c]);
	else
		strbuf_printf(out, "\\u%04x", c);
}

void json_put_string(struct strbuf *out, const char *text)
{
	strbuf_putc(out, '"');
	while (*text) {
		unsigned char c = (unsigned char)*text;
		size_t length = utf8_sequence(text);

		if (length == 0) {
			strbuf_puts(out, UTF8_REPLACEMENT);
			length = 1;
		} else if (c < 0x20 || c == 0x7f) {
			put_control(out, c);
		} else {
			if (c == '"' || c == '\\')
				strbuf_putc(out, '\\');
			strbuf_add(out, text, length);
		}
		text += length;
	}
	strbuf_putc(out, '"');
}

void json_put_nullable(struct strbuf *out, const char *text)
{
	if (text)
		json_put_string(out, text);
	else
		strbuf_puts(out, "null");
}
