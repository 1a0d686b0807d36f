/* x86-64 instructions as Zydis decodes them: shared by code_x86*.c, which alone include Zydis. */
#ifndef TARGET_CODE_X86_H
#define TARGET_CODE_X86_H

#include <Zydis/Zydis.h>

#include "target/code_machine.h"

#define CODE_X86_DEEPEST (INT64_C(1) << 30) /* larger frames count as unknown */

struct code_x86 {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

bool code_x86_decode(const unsigned char *bytes, size_t room, struct code_x86 *x);
/* The 64-bit register that `reg` is a part of. */
ZydisRegister code_x86_whole(ZydisRegister reg);
/* Whether any part of a 64-bit register is written, also implicitly. */
bool code_x86_writes(const struct code_x86 *x, ZydisRegister whole);
/* Whether a memory operand is one fixed place, relative to rip or absolute; `at` gets it. */
bool code_x86_fixed(const struct code_x86 *x, const ZydisDecodedOperand *operand, uint64_t address,
		    uint64_t *at);
/* lea 0(%reg),%reg, which is used as a nop. */
bool code_x86_is_lea_nop(const struct code_x86 *x);

/* code_x86_stack.c: x86-64's `copy` and `find_stack_load`. */
void code_x86_copy(const unsigned char *bytes, size_t room, struct code_copy *copy);
size_t code_x86_find_stack_load(const unsigned char *bytes, size_t from, size_t length);

enum code_class code_x86_classify(const unsigned char *bytes, size_t room, const char **why);

#endif
