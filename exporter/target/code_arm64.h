/* arm64 instructions: shared by code_arm64*.c. */
#ifndef TARGET_CODE_ARM64_H
#define TARGET_CODE_ARM64_H

#include "target/code_machine.h"

/* code_arm64_stack.c: arm64's `copy` and `find_stack_load`. */
void code_arm64_copy(const unsigned char *bytes, size_t room, struct code_copy *copy);
size_t code_arm64_find_stack_load(const unsigned char *bytes, size_t from, size_t length);

#endif
