/* A growing text. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void strbuf_init(struct strbuf *buf)
{
	memset(buf, 0, sizeof(*buf));
}

void strbuf_fini(struct strbuf *buf)
{
	free(buf->text);
	strbuf_init(buf);
}

void strbuf_clear(struct strbuf *buf)
{
	buf->length = 0;
	if (buf->text)
		buf->text[0] = '\0';
}

static void reserve(struct strbuf *buf, size_t more)
{
	size_t need;

	if (__builtin_add_overflow(buf->length, more, &need) || need + 1 < need)
		alloc_failed();
	if (need + 1 <= buf->room)
		return;
	size_t room = buf->room ? buf->room : 256;
	while (room < need + 1)
		room *= 2;
	buf->text = alloc_resize(buf->text, room, 1);
	buf->room = room;
}

void strbuf_add(struct strbuf *buf, const char *bytes, size_t length)
{
	reserve(buf, length);
	memcpy(buf->text + buf->length, bytes, length);
	buf->length += length;
	buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c)
{
	strbuf_add(buf, &c, 1);
}

void strbuf_printf(struct strbuf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0)
		return;
	reserve(buf, (size_t)length);
	va_start(args, fmt);
	vsnprintf(buf->text + buf->length, (size_t)length + 1, fmt, args);
	va_end(args);
	buf->length += (size_t)length;
}

const char *strbuf_text(const struct strbuf *buf)
{
	return buf->text ? buf->text : "";
}

char *strbuf_take(struct strbuf *buf)
{
	char *text = buf->text ? buf->text : alloc_strdup("");

	strbuf_init(buf);
	return text;
}
