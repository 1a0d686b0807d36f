/* What YAML makes of a scalar without quotes. */
#ifndef CONFIG_PLAIN_H
#define CONFIG_PLAIN_H

/*
 * What YAML 1.1 (yaml.org/type) or 1.2's core schema takes unquoted `text` for: "a number",
 * "a boolean", "null" or "a date"; NULL when it is text to both. Anything else than text means
 * different things to different programs.
 */
const char *plain_type(const char *text);

#endif
