/* Text from files and configs, made fit for a terminal. */
#ifndef PRINTABLE_H
#define PRINTABLE_H

#include "base/strbuf.h"

/* Append `text` with control characters and invalid UTF-8 as \n, \t or \xNN. */
void printable_put(struct strbuf *out, const char *text);

/* One line about what is wrong, on stderr. */
void printable_complain(const char *text);

#endif
