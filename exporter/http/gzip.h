/* Content coding gzip (RFC 9110 section 8.4.1.3, RFC 1952): whether a client takes it, and making
 * it. */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stdbool.h>

struct strbuf;

/*
 * Whether the value of Accept-Encoding (NULL: no such header) asks for gzip: named, or covered by
 * `*`, with a quality above 0 and not below that of identity. Malformed elements are passed over;
 * any refusal (q=0) wins over an offer.
 */
bool gzip_wanted(const char *accept_encoding);

/* Replace the bytes of `body` by their gzip form: 0, or -ENOMEM and the body is as it was. */
int gzip_compress(struct strbuf *body);

#endif
