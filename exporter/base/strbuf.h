/* A growing text: what the renderers and messages are written into. Always NUL-terminated. */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stddef.h>

struct strbuf {
	char *text; /* never NULL after the first write; owned */
	size_t length, room;
};

void strbuf_init(struct strbuf *buf);
void strbuf_fini(struct strbuf *buf);
void strbuf_clear(struct strbuf *buf);

void strbuf_add(struct strbuf *buf, const char *bytes, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_printf(struct strbuf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text ("" when nothing was written); borrowed until the next write. */
const char *strbuf_text(const struct strbuf *buf);
/* Hand the text over to the caller, who frees it; the buffer is empty again. */
char *strbuf_take(struct strbuf *buf);

#endif
