/*
 * Regular expressions of a config: POSIX extended ones that compile, and that cost neither much
 * memory nor much time, whatever they are matched with.
 */
#ifndef CONFIG_REGEX_H
#define CONFIG_REGEX_H

#include <stddef.h>

#define REGEX_MAX_BYTES 1024

/* What is wrong with an expression, in `room`; NULL when nothing is. */
const char *regex_fault(const char *text, char *room, size_t room_bytes);

#endif
