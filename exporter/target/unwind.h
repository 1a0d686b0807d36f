/* Whether a file's call frame information names a personality routine: a landing place for
 * exceptions, cleanups or cancellation. */
#ifndef TARGET_UNWIND_H
#define TARGET_UNWIND_H

#include <stdbool.h>

#include "target/image.h"

enum unwind_answer { UNWIND_NONE, UNWIND_PERSONALITY, UNWIND_UNKNOWN };

/*
 * Look through the CIEs of .eh_frame, found through PT_GNU_EH_FRAME so that a file without
 * section headers is judged as well. UNWIND_NONE also where there is no such information;
 * UNWIND_UNKNOWN when it cannot be read to its end.
 */
enum unwind_answer unwind_personality(const struct image *image);

#endif
