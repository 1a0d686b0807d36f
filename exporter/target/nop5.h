/* Whether this kernel makes probes on five-byte nops cheap. */
#ifndef TARGET_NOP5_H
#define TARGET_NOP5_H

#include <stdbool.h>

/*
 * Kernels from 6.18 on replace a five-byte nop under a probe by a call of a trampoline, which
 * enters them by a system call of its own instead of a breakpoint.
 */
bool nop5_is_cheap(void);

#endif
