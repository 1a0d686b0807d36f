/* UTF-8 as RFC 3629 has it: what scrapers insist on in label values. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length in bytes (1-4) of the valid sequence at the start of NUL-terminated `text`; 0 if none. */
size_t utf8_sequence(const char *text);
/* Whether the whole of `text` is valid. */
int utf8_valid(const char *text);

#endif
