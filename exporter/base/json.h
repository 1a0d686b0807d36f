/* Writing JSON strings: all of JSON that this program has to write by itself. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

struct strbuf;

/* `text` in quotes, escaped (RFC 8259); bytes that are not valid UTF-8 become U+FFFD. */
void json_put_string(struct strbuf *out, const char *text);
/* The same; null for NULL. */
void json_put_nullable(struct strbuf *out, const char *text);

#endif
