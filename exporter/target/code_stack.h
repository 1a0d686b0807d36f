/*
 * Whether a function goes on on another stack: it loads the stack pointer with something that is
 * not an address in the stack that it came with. Frames that are set up and torn down, arrays of
 * variable length and aligned stacks all put back what came from the stack pointer itself.
 */
#ifndef TARGET_CODE_STACK_H
#define TARGET_CODE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/code.h"

/*
 * Whether there is an instruction in the decoded function after which the stack pointer is not
 * known to point into the function's own stack; `at` gets its address. `split_off`: it is a part
 * of another function, and comes with whatever that has in its registers.
 */
bool code_stack_is_switched(const struct code *code, bool split_off, uint64_t *at);

/*
 * The first place in bytes[from, length) where an instruction may begin that loads the stack
 * pointer in a way that ordinary frames do not; `length` when there is none. Bytes alone do not
 * tell: it may be the middle of another instruction. Instructions that do not end before `length`
 * may be missed: windows overlap by CODE_STACK_MOST_LENGTH. arm64: `bytes` is aligned to 4.
 */
size_t code_stack_find(uint16_t machine, const unsigned char *bytes, size_t from, size_t length);

/*
 * Whether an instruction begins at `at` when a function's bytes are taken as one instruction after
 * another (or one byte before: it may have a prefix more than was found). True also where bytes
 * before it are no instruction.
 */
bool code_stack_is_boundary(uint16_t machine, const unsigned char *bytes, size_t length, size_t at);

#define CODE_STACK_MOST_LENGTH 16

#endif
