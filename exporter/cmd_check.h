/* The command `check`: what would become of every probe of a config. */
#ifndef CMD_CHECK_H
#define CMD_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "model/spec.h"

/*
 * Resolve and judge every probe of `spec` from the files alone and print one line a probe that
 * begins with `ok` or `refused`, then warnings, the files and what was assumed. With `json` an
 * array of objects, one a probe, with these members (null where there is no such thing):
 *     target, function, ok, reason, detail, warning, binary, build_id, symbol, symbol_offset,
 *     entry_offset, size, exit, exit_strategy, pid, shared_with {target, function},
 *     mapping_processes, mapping_programs, assumed [texts]
 * Returns the exit status: 0 all can be attached; 1 some cannot.
 */
int cmd_check(const struct spec *spec, bool json, FILE *out);

#endif
