/* `list --usdt`: the USDT sites of a file. */
#ifndef CMD_LIST_USDT_H
#define CMD_LIST_USDT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Print the USDT sites of `path` whose "provider:name" matches the glob `pattern` (NULL: all),
 * each with its file offset, its semaphore's and its arguments: their C types, where they are
 * found, and why one cannot be read. With `json` an array of objects, one a line:
 *     {"provider":"p","name":"n","offset":4096,"semaphore":8192,"reason":null,"problem":null,
 *      "remark":null,"arguments":[{"type":"int32_t","operand":"%eax","problem":null}],
 *      "more_arguments":0}
 * "semaphore" is null where there is none, "offset" where the site is not in the file's code;
 * "problem" says why no probe can be put there. "arguments" has at most SDTARG_MOST of them,
 * "more_arguments" counts the others.
 * Returns the exit status: 0; 1 nothing matches, or the file has no such notes; 2 the file or its
 * notes cannot be read, or the pattern is wrong (why: on stderr).
 */
int cmd_list_usdt(const char *path, const char *pattern, bool json, FILE *out);

#endif
