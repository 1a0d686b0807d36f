/* Uses of the return address: at sp as it was at the entry (x86-64), in x30 (arm64). */
#include "target/code_return.h"

#include <string.h>

#include "target/code_x86.h"

/* Where the operand points, in bytes above sp at the entry; false when that is not known. */
static bool above_entry(const struct code_step *step, const ZydisDecodedOperand *operand,
			int64_t *at)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
	    operand->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	*at = operand->mem.disp.value;
	if (operand->mem.base == ZYDIS_REGISTER_RSP && step->sp_known)
		*at -= step->sp;
	else if (operand->mem.base == ZYDIS_REGISTER_RBP && step->bp_known)
		*at -= step->bp;
	else
		return false;
	return true;
}

static bool x86_uses(const struct code_step *step, const unsigned char *bytes, size_t room)
{
	struct code_x86 x;

	if (step->sp_known && step->sp < 0) /* it was popped */
		return true;
	if (step->flow == FLOW_RETURN || !code_x86_decode(bytes, room, &x))
		return false;
	for (unsigned i = 0; i < x.insn.operand_count; i++) {
		int64_t from, size = x.operand[i].size / 8;
		if (!above_entry(step, &x.operand[i], &from))
			continue;
		if (x.insn.mnemonic == ZYDIS_MNEMONIC_LEA ? from == 0 : from < 8 && from + size > 0)
			return true;
	}
	return false;
}

/* str x30 and stp …x30… with another base than sp, and mov xN, x30 (orr xN, xzr, x30). */
static bool arm64_uses(const unsigned char *bytes)
{
	uint32_t word, base;

	memcpy(&word, bytes, sizeof(word));
	base = word >> 5 & 31;
	if ((word & 0xffe0ffe0) == 0xaa0003e0 && (word >> 16 & 31) == 30)
		return (word & 31) != 31;
	if ((word & 0xfe400000) == 0xa8000000) /* stp of 64-bit registers, every addressing */
		return base != 31 && ((word & 31) == 30 || (word >> 10 & 31) == 30);
	if ((word & 0xffc00000) == 0xf9000000) /* str, unsigned offset */
		return base != 31 && (word & 31) == 30;
	return false;
}

bool code_return_is_used(const struct code *code, uint64_t *at)
{
	for (size_t i = 0; i < code->steps.n; i++) {
		const struct code_step *step = &code->steps.at[i];
		size_t room;
		const unsigned char *bytes = code_bytes(code, step->address, &room);
		*at = step->address;
		if (!bytes)
			continue;
		if (code->machine == &code_x86_machine ? x86_uses(step, bytes, room)
						       : arm64_uses(bytes))
			return true;
	}
	return false;
}

bool code_return_is_unlikely(const struct code *code)
{
	for (size_t i = 0; i < code->steps.n; i++)
		if (code->steps.at[i].flow != FLOW_NEXT)
			return false;
	return !code->complete;
}
