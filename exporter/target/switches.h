/* Whether code in a file takes up another stack by itself, whatever its functions are called. */
#ifndef TARGET_SWITCHES_H
#define TARGET_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "target/functions.h"
#include "target/image.h"

/* Bytes that are looked into, over and again where need be. More is not believed to be false
 * alarms: a library of 100 MB of code takes less than a tenth of it. */
#define SWITCHES_MOST_WORK (UINT64_C(1) << 26)

/* Bytes of code that are searched, some seconds' worth. A sparse file says it has terabytes. */
#define SWITCHES_MOST_CODE (UINT64_C(1) << 29)

/*
 * Search the executable sections (segments, where there are none) for an instruction that loads the
 * stack pointer with a foreign address: true, and `why` gets which ("its hop takes up another stack
 * (mov (%rsi), %rsp)"). Code that no function is known for counts. `functions` (sorted; may be
 * NULL) name and bound what the frame information does not; `has_libc`: the C library is linked in,
 * and its own are let pass.
 */
bool switches_find(const struct image *image, const struct functions *functions, bool has_libc,
		   struct strbuf *why);

#endif
