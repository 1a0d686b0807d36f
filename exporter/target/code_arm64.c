/*
 * The few arm64 instructions that matter for control flow and the stack, as a table; every other
 * word goes on to the next one. Encodings: Arm Architecture Reference Manual for A-profile,
 * chapter C4. What the kernel does with a probe: arch/arm64/kernel/probes/{decode,simulate}-insn.c.
 */
#include <stdio.h>
#include <string.h>

#include "target/code_arm64.h"

#define FRAME_REG 29u
#define SP_REG	  31u
#define DEEPEST	  (INT64_C(1) << 30)

enum immediate { IMM_NONE, IMM_26, IMM_19, IMM_14 };

static const char exclusive[] = "it is an exclusive load or store";
static const char system_insn[] = "it is a system instruction";
static const char traps[] = "it traps";
static const char literal[] = "it loads a literal that the kernel cannot simulate";

static const struct form {
	uint32_t mask, value;
	enum code_flow flow;
	enum immediate immediate;
	enum code_class class;
	const char *why;
	const char *name;
} forms[] = {
	{0xfffffc1f, 0xd65f0000, FLOW_RETURN, IMM_NONE, CODE_EMULATED, NULL, "ret"},
	{0xfffffbff, 0xd65f0bff, FLOW_RETURN, IMM_NONE, CODE_STEPPED, NULL, "retaa"},
	{0xfffffc1f, 0xd61f0000, FLOW_JUMP_INDIRECT, IMM_NONE, CODE_EMULATED, NULL, "br"},
	{0xfefff800, 0xd61f0800, FLOW_JUMP_INDIRECT, IMM_NONE, CODE_STEPPED, NULL, "braa"},
	{0xfffffc1f, 0xd63f0000, FLOW_CALL_INDIRECT, IMM_NONE, CODE_EMULATED, NULL, "blr"},
	{0xfefff800, 0xd63f0800, FLOW_CALL_INDIRECT, IMM_NONE, CODE_STEPPED, NULL, "blraa"},
	{0xfffff3ff, 0xd69f03e0, FLOW_ODD, IMM_NONE, CODE_REFUSED, system_insn, "eret"},
	{0xfc000000, 0x14000000, FLOW_JUMP, IMM_26, CODE_EMULATED, NULL, "b"},
	{0xfc000000, 0x94000000, FLOW_CALL, IMM_26, CODE_EMULATED, NULL, "bl"},
	{0xff00000e, 0x5400000e, FLOW_JUMP, IMM_19, CODE_EMULATED, NULL, "b.al"},
	{0xff000000, 0x54000000, FLOW_BRANCH, IMM_19, CODE_EMULATED, NULL, "b.cond"},
	{0x7e000000, 0x34000000, FLOW_BRANCH_OTHER, IMM_19, CODE_EMULATED, NULL, "cbz"},
	{0x7e000000, 0x36000000, FLOW_BRANCH_OTHER, IMM_14, CODE_EMULATED, NULL, "tbz"},
	{0xffff0000, 0x00000000, FLOW_STOP, IMM_NONE, CODE_REFUSED, traps, "udf"},
	{0xffe0001f, 0xd4200000, FLOW_STOP, IMM_NONE, CODE_REFUSED, traps, "brk"},
	{0xffe0001f, 0xd4400000, FLOW_STOP, IMM_NONE, CODE_REFUSED, traps, "hlt"},
	{0xff000000, 0xd4000000, FLOW_NEXT, IMM_NONE, CODE_REFUSED, traps, "svc"},
	{0xffffffff, 0xd503201f, FLOW_NEXT, IMM_NONE, CODE_LONG_NOP, NULL, "nop"},
	{0xffffff3f, 0xd503241f, FLOW_NEXT, IMM_NONE, CODE_STEPPED, NULL, "bti"},
	{0xfffffdff, 0xd503211f, FLOW_NEXT, IMM_NONE, CODE_STEPPED, NULL, "pacia1716"},
	{0xfffffdbf, 0xd503231f, FLOW_NEXT, IMM_NONE, CODE_STEPPED, NULL, "paciaz"},
	{0xfffffd9f, 0xd503211f, FLOW_NEXT, IMM_NONE, CODE_STEPPED, NULL, "paciasp"},
	{0xfff00000, 0xd5300000, FLOW_NEXT, IMM_NONE, CODE_STEPPED, NULL, "mrs"},
	{0xff000000, 0xd5000000, FLOW_NEXT, IMM_NONE, CODE_REFUSED, system_insn, "sys"},
	{0x3f000000, 0x08000000, FLOW_NEXT, IMM_NONE, CODE_REFUSED, exclusive, "ldxr"},
	{0x9f000000, 0x10000000, FLOW_NEXT, IMM_NONE, CODE_EMULATED, NULL, "adr"},
	{0x9f000000, 0x90000000, FLOW_NEXT, IMM_NONE, CODE_EMULATED, NULL, "adrp"},
	{0xbf000000, 0x18000000, FLOW_NEXT, IMM_NONE, CODE_EMULATED, NULL, "ldr"},
	{0xff000000, 0x98000000, FLOW_NEXT, IMM_NONE, CODE_EMULATED, NULL, "ldrsw"},
	{0x3b000000, 0x18000000, FLOW_NEXT, IMM_NONE, CODE_REFUSED, literal, "ldr"},
};

static uint32_t word_at(const unsigned char *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static const struct form *form_of(uint32_t word)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((word & forms[i].mask) == forms[i].value)
			return &forms[i];
	}
	return NULL;
}

/* Groups of encodings (bits 28 to 25) that hold no instruction apart from udf. */
static bool is_unallocated(uint32_t word)
{
	uint32_t group = word >> 25 & 0xf;

	return group == 1 || group == 3 || (group == 0 && word >> 16 != 0);
}

static int64_t signed_field(uint32_t word, unsigned shift, unsigned bits)
{
	uint32_t field = word >> shift & ((1u << bits) - 1);

	return (int64_t)field - (field >> (bits - 1) ? INT64_C(1) << bits : 0);
}

static uint64_t target_of(uint32_t word, enum immediate immediate, uint64_t address)
{
	static const struct {
		unsigned shift, bits;
	} fields[] = {[IMM_26] = {0, 26}, [IMM_19] = {5, 19}, [IMM_14] = {5, 14}};

	return immediate == IMM_NONE
		       ? 0
		       : address + 4 * (uint64_t)signed_field(word, fields[immediate].shift,
							      fields[immediate].bits);
}

static bool decode(const unsigned char *bytes, size_t room, uint64_t address,
		   struct code_insn *insn)
{
	const struct form *form;
	uint32_t word;

	if (room < 4 || address % 4 != 0)
		return false;
	word = word_at(bytes);
	if (is_unallocated(word))
		return false;
	form = form_of(word);
	*insn = (struct code_insn){.length = 4, .flow = form ? form->flow : FLOW_NEXT};
	if (form) {
		insn->target = target_of(word, form->immediate, address);
		insn->condition = form->flow == FLOW_BRANCH ? word & 0xf : 0;
		insn->slow = form->class == CODE_REFUSED;
	}
	return true;
}

static size_t length(const unsigned char *bytes, size_t room)
{
	return room >= 4 && !is_unallocated(word_at(bytes)) ? 4 : 0;
}

static size_t padding(const unsigned char *bytes, size_t room)
{
	uint32_t word = room >= 4 ? word_at(bytes) : 1;

	return word == 0 || word == 0xd503201f ? 4 : 0;
}

static uint32_t field(uint32_t word, unsigned shift)
{
	return word >> shift & 0x1f;
}

/* ldp/stp with write-back: how far it moves the base; 0 when the word is none. */
static int64_t pair_moves(uint32_t word)
{
	unsigned scale;

	if ((word & 0x3a000000) != 0x28000000 || !(word >> 23 & 1) || word >> 25 & 1)
		return 0;
	scale = word >> 26 & 1 ? 2 + (word >> 30) : 2 + (word >> 31);
	return signed_field(word, 15, 7) * (INT64_C(1) << scale);
}

/* ldr/str of one register with write-back. */
static int64_t single_moves(uint32_t word)
{
	return (word & 0x3b200400) == 0x38000400 ? signed_field(word, 12, 9) : 0;
}

static bool is_pair(uint32_t word)
{
	return (word & 0x3a000000) == 0x28000000;
}

/* Loads and stores: bits 27 and 25 are 1 and 0. */
static bool is_store(uint32_t word)
{
	if ((word & 0x0a000000) != 0x08000000)
		return false;
	return is_pair(word) ? !(word >> 22 & 1) : !(word >> 22 & 3);
}

static void move(int32_t *to, bool *to_known, int32_t from, bool from_known, int64_t more)
{
	*to_known = from_known && from + more > -DEEPEST && from + more < DEEPEST;
	*to = *to_known ? (int32_t)(from + more) : 0;
}

/* add or sub of an immediate (add to sp and from sp is how registers are copied). */
static bool track_add(uint32_t word, struct code_frame *frame)
{
	int64_t added = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
	uint32_t to = field(word, 0), from = field(word, 5);
	bool known = from == SP_REG ? frame->sp_known : from == FRAME_REG && frame->bp_known;
	int32_t depth = from == SP_REG ? frame->sp : frame->bp;

	if ((word & 0xbf800000) != 0x91000000)
		return false;
	if (!(word >> 30 & 1))
		added = -added;
	if (to == SP_REG)
		move(&frame->sp, &frame->sp_known, depth, known, added);
	else if (to == FRAME_REG)
		move(&frame->bp, &frame->bp_known, depth, known, added);
	return true;
}

/* Other instructions whose destination 31 is sp: add/sub extended, logical immediate. */
static bool writes_sp(uint32_t word)
{
	return field(word, 0) == SP_REG &&
	       ((word & 0xbfe00000) == 0x8b200000 || (word & 0x9f800000) == 0x92000000);
}

static bool writes_register(uint32_t word, uint32_t reg)
{
	const struct form *form = form_of(word);

	if (form && form->flow != FLOW_NEXT)
		return false;
	if ((pair_moves(word) || single_moves(word)) && field(word, 5) == reg)
		return true;
	if (is_store(word))
		return false;
	return field(word, 0) == reg || (is_pair(word) && field(word, 10) == reg);
}

static void track(const unsigned char *bytes, size_t room, uint64_t address,
		  struct code_frame *frame)
{
	uint32_t word = room >= 4 ? word_at(bytes) : 0;
	int64_t moved = pair_moves(word) + single_moves(word);

	(void)address;
	if (track_add(word, frame))
		return;
	if (moved && field(word, 5) == SP_REG)
		move(&frame->sp, &frame->sp_known, frame->sp, frame->sp_known, -moved);
	if (writes_sp(word))
		frame->sp_known = false;
	if (writes_register(word, FRAME_REG))
		frame->bp_known = false;
}

/* br: out of the function when the register was loaded or passed; tables are not understood. */
static void indirect(const struct code_view *view, uint32_t index, struct code_indirect *indirect)
{
	const struct code_step *step = &view->code->steps.at[index];
	size_t room;
	uint32_t reg = field(word_at(code_bytes(view->code, step->address, &room)), 5);

	while (step->from != CODE_NONE) {
		step = &view->code->steps.at[step->from];
		uint32_t word = word_at(code_bytes(view->code, step->address, &room));
		if (!writes_register(word, reg))
			continue;
		/* ldr x,[x,#imm] */
		if ((word & 0xffc00000) == 0xf9400000) {
			indirect->kind = INDIRECT_TAIL;
			return;
		}
		indirect->kind = INDIRECT_UNKNOWN;
		indirect->why = "goes to a computed address";
		return;
	}
	indirect->kind = INDIRECT_TAIL;
}

static enum code_class classify(const unsigned char *bytes, size_t room, const char **why)
{
	const struct form *form;

	*why = "its bytes are no instruction";
	if (room < 4 || is_unallocated(word_at(bytes)))
		return CODE_REFUSED;
	form = form_of(word_at(bytes));
	*why = form ? form->why : NULL;
	return form ? form->class : CODE_STEPPED;
}

static uint64_t writes(const unsigned char *bytes, size_t room)
{
	uint64_t mask = 0;

	if (room < 4)
		return UINT64_MAX;
	for (uint32_t reg = 0; reg < SP_REG; reg++) {
		if (writes_register(word_at(bytes), reg))
			mask |= UINT64_C(1) << reg;
	}
	return mask;
}

/* The hint space: nop, bti. */
static bool idle(const unsigned char *bytes, size_t room)
{
	const struct form *form = room >= 4 ? form_of(word_at(bytes)) : NULL;

	return form && (!strcmp(form->name, "nop") || !strcmp(form->name, "bti"));
}

static void text(const unsigned char *bytes, size_t room, uint64_t address,
		 char text[CODE_TEXT_ROOM])
{
	const struct form *form = room >= 4 ? form_of(word_at(bytes)) : NULL;

	(void)address;
	if (form)
		snprintf(text, CODE_TEXT_ROOM, "%s", form->name);
	else if (room >= 4)
		snprintf(text, CODE_TEXT_ROOM, ".inst 0x%08x", word_at(bytes));
}

const struct code_machine code_arm64_machine = {
	.stack_pointer = SP_REG,
	.decode = decode,
	.length = length,
	.padding = padding,
	.track = track,
	.indirect = indirect,
	.classify = classify,
	.writes = writes,
	.copy = code_arm64_copy,
	.find_stack_load = code_arm64_find_stack_load,
	.idle = idle,
	.text = text,
};
