/* The command `list`: what can be probed in a file. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Print the functions of `path` that have a name matching the glob `pattern` (NULL: all), each
 * with its file offset, size, binding, what `exit: auto` makes of it, and its other names. With
 * `json` an array of objects, one a line:
 *     {"function":"f","aliases":["g"],"offset":4096,"size":17,"bind":"global","untyped":false,
 *      "exit_auto":"uretprobe"}       "exit_auto" is null where `auto` refuses
 * Returns the exit status: 0; 1 no match; 2 the file cannot be read (why: on stderr). With `usdt`
 * it is about USDT sites: cmd_list_usdt.h.
 */
int cmd_list(const char *path, const char *pattern, bool usdt, bool json, FILE *out);

#endif
