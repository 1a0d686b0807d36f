/*
 * arm64: which instructions copy addresses of the stack between registers and memory, and which
 * words load sp. Encodings: Arm ARM (DDI 0487), C4.1 and C6.2. Register 31 is sp or the zero
 * register, as the instruction has it; in masks bit 31 is sp.
 */
#include "target/code_arm64.h"

#include <string.h>

enum { FP = 29, SP = 31 };

/* What a callee may change: AAPCS64, 6.1.1. */
#define CHANGED_BY_CALLS (UINT64_C(0x7ffff) | UINT64_C(1) << 30)

static uint32_t word_at(const unsigned char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static unsigned field(uint32_t word, unsigned shift)
{
	return word >> shift & 31;
}

static uint64_t bit(unsigned reg)
{
	return UINT64_C(1) << reg;
}

/* Forms with sp for 31 in both the first operand and the result: add and sub of an immediate or
 * an extended register, and (result only) and, orr, eor with an immediate. */
static bool adds(uint32_t word)
{
	return (word & 0xbf800000) == 0x91000000 || (word & 0xbfe00000) == 0x8b200000;
}

static bool masks(uint32_t word)
{
	return (word & 0x9f800000) == 0x92000000 && (word >> 29 & 3) != 3;
}

/* Forms with the zero register for 31: mov (orr of a register), add and sub of one. */
static bool moves(uint32_t word)
{
	return (word & 0xffe0ffe0) == 0xaa0003e0;
}

static bool adds_plain(uint32_t word)
{
	return (word & 0xbf200000) == 0x8b000000;
}

/* ldr and str of 64 bits at a fixed distance from a register. */
static bool is_slot(uint32_t word)
{
	return (word & 0xff800000) == 0xf9000000;
}

static void gets(struct code_copy *copy, uint32_t word, uint64_t from)
{
	copy->kind = COPY_ANY;
	copy->to = (uint8_t)field(word, 0);
	copy->from = from;
	copy->writes |= bit(copy->to);
}

void code_arm64_copy(const unsigned char *bytes, size_t room, struct code_copy *copy)
{
	struct code_insn insn;

	if (room < 4 || !code_arm64_machine.decode(bytes, room, 0, &insn))
		return;
	uint32_t word = word_at(bytes);
	*copy = (struct code_copy){.writes = code_arm64_machine.writes(bytes, room)};
	if (insn.flow == FLOW_CALL || insn.flow == FLOW_CALL_INDIRECT) {
		copy->writes |= CHANGED_BY_CALLS;
	} else if (adds(word)) {
		gets(copy, word, bit(field(word, 5)));
	} else if (masks(word)) {
		gets(copy, word, field(word, 5) == SP ? 0 : bit(field(word, 5)));
	} else if (moves(word) && field(word, 0) != SP) {
		gets(copy, word, field(word, 16) == SP ? 0 : bit(field(word, 16)));
	} else if (adds_plain(word) && field(word, 0) != SP) {
		gets(copy, word, (bit(field(word, 5)) | bit(field(word, 16))) & ~bit(SP));
	} else if (is_slot(word)) {
		copy->kind = word >> 22 & 1 ? COPY_LOAD : COPY_SAVE;
		copy->base = (uint8_t)field(word, 5);
		copy->displacement = (int64_t)(word >> 10 & 0xfff) * 8;
		copy->to = (uint8_t)field(word, 0);
		copy->from = copy->to == SP ? 0 : bit(copy->to);
		if (copy->kind == COPY_LOAD && copy->to == SP) /* of the zero register: nothing */
			copy->kind = COPY_NONE;
	}
}

size_t code_arm64_find_stack_load(const unsigned char *bytes, size_t from, size_t length)
{
	for (size_t i = (from + 3) & ~(size_t)3; i + 4 <= length; i += 4) {
		uint32_t word = word_at(bytes + i);
		unsigned source = field(word, 5);
		if (field(word, 0) == SP && (adds(word) || masks(word)) && source != SP &&
		    source != FP)
			return i;
	}
	return length;
}
