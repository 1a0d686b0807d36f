/* Our own executable as a target: for trying what works and measuring what it costs. */
#ifndef KERNEL_SELF_H
#define KERNEL_SELF_H

#include <stdint.h>

#define SELF_PATH "/proc/self/exe"

/* File offset of an address in this executable's text. 0 or -errno. */
int self_offset(uintptr_t address, uint64_t *offset);

#endif
