/* The first look at a config's bytes: is this UTF-8 text that a person can see? */
#ifndef CONFIG_ENCODING_H
#define CONFIG_ENCODING_H

#include "config/report.h"

/*
 * 0 if the report's text is valid UTF-8 without byte order mark, NUL, control characters (other
 * than tab and line ends) and line separators outside ASCII; else -EINVAL, the first reported.
 */
int encoding_check(struct report *report);

#endif
