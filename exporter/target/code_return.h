/*
 * Whether a function looks at its own return address, which a return probe replaces. setjmp keeps
 * it for a later longjmp, dlsym asks who called, program starts find other things in its place:
 * none of them survives or answers rightly with the kernel's address there.
 */
#ifndef TARGET_CODE_RETURN_H
#define TARGET_CODE_RETURN_H

#include <stdbool.h>

#include "target/code.h"

/*
 * Whether an instruction reads, writes, takes the address of or pops the return address, other
 * than by returning; `at` gets the first such instruction. arm64, where it comes in a register:
 * whether the register is kept elsewhere than on the stack.
 */
bool code_return_is_used(const struct code *code, uint64_t *at);

/*
 * Whether the code, as far as it is understood, only runs on into other code. A signal's way back
 * does that, which is not called and has other things where a return address would be.
 */
bool code_return_is_unlikely(const struct code *code);

#endif
