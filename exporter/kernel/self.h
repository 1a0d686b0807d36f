/* Our own executable as a target: for trying what works and measuring what it costs. */
#ifndef KERNEL_SELF_H
#define KERNEL_SELF_H

#include <stdbool.h>
#include <stdint.h>

/* File offset of an address in this executable's text. 0 or -errno. */
int self_offset(uintptr_t address, uint64_t *offset);

/*
 * The path by which the kernel opens this executable. Not always /proc/self/exe: under valgrind
 * that is valgrind's own program, and a probe would land somewhere in its code. Static storage.
 */
const char *self_path(void);

/*
 * Whether valgrind runs this process: the code that is executed is then a translation of ours, and
 * a call of a function with a breakpoint in it ends the process by SIGTRAP.
 */
bool self_is_translated(void);

#endif
