/* Whether code in a file takes up another stack by itself, whatever its functions are called. */
#ifndef TARGET_SWITCHES_H
#define TARGET_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "target/functions.h"
#include "target/image.h"

/* Functions that are looked into; that many false alarms are no longer believed to be that. */
#define SWITCHES_MOST 2000

/*
 * Search the executable segments for an instruction that loads the stack pointer with a foreign
 * address: true, and `why` gets which ("its hop takes up another stack (mov (%rsi), %rsp)"). Code
 * that no function is known for counts. `functions` (sorted; may be NULL) name and bound what the
 * frame information does not; `has_libc`: the C library is linked in, and its own are let pass.
 */
bool switches_find(const struct image *image, const struct functions *functions, bool has_libc,
		   struct strbuf *why);

#endif
