/*
 * x86-64 instructions, by Zydis: control flow, what they do to the stack, and text. What the
 * kernel does with a probe at one is in code_x86_class.c, indirect jumps in code_x86_table.c.
 */
#include "target/code_x86.h"

#include <stdio.h>
#include <string.h>

/* Zydis' tables are constant; setting a decoder up is a few stores. */
static void decoder_init(ZydisDecoder *decoder)
{
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool code_x86_decode(const unsigned char *bytes, size_t room, struct code_x86 *x)
{
	ZydisDecoder decoder;

	decoder_init(&decoder);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, &x->insn, x->operand));
}

ZydisRegister code_x86_whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

bool code_x86_writes(const struct code_x86 *x, ZydisRegister whole)
{
	for (unsigned i = 0; i < x->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &x->operand[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    code_x86_whole(operand->reg.value) == whole)
			return true;
	}
	return false;
}

bool code_x86_fixed(const struct code_x86 *x, const ZydisDecodedOperand *operand, uint64_t address,
		    uint64_t *at)
{
	ZyanU64 result;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.index != ZYDIS_REGISTER_NONE ||
	    operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS ||
	    (operand->mem.base != ZYDIS_REGISTER_RIP && operand->mem.base != ZYDIS_REGISTER_NONE) ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&x->insn, operand, address, &result)))
		return false;
	*at = result;
	return true;
}

/* The flow of what Zydis counts as a branch or call, by its first operand. */
static enum code_flow flow_of_target(const struct code_x86 *x, uint64_t address,
				     struct code_insn *insn, enum code_flow direct,
				     enum code_flow indirect)
{
	const ZydisDecodedOperand *operand = &x->operand[0];
	ZyanU64 target;

	if (x->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return FLOW_ODD;
	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&x->insn, operand, address, &target)))
			return FLOW_ODD;
		insn->target = target;
		return direct;
	}
	if (indirect == FLOW_CALL_INDIRECT && code_x86_fixed(x, operand, address, &insn->target))
		return FLOW_CALL_SLOT;
	return indirect;
}

/* Instructions that end a path or leave oddly, which Zydis puts in various categories. */
static const struct {
	ZydisMnemonic mnemonic;
	enum code_flow flow;
} special[] = {
	{ZYDIS_MNEMONIC_UD0, FLOW_STOP},
	{ZYDIS_MNEMONIC_UD1, FLOW_STOP},
	{ZYDIS_MNEMONIC_UD2, FLOW_STOP},
	{ZYDIS_MNEMONIC_HLT, FLOW_STOP},
	{ZYDIS_MNEMONIC_INT3, FLOW_STOP},
	{ZYDIS_MNEMONIC_INT1, FLOW_STOP},
	{ZYDIS_MNEMONIC_IRET, FLOW_ODD},
	{ZYDIS_MNEMONIC_IRETD, FLOW_ODD},
	{ZYDIS_MNEMONIC_IRETQ, FLOW_ODD},
	{ZYDIS_MNEMONIC_SYSRET, FLOW_ODD},
	{ZYDIS_MNEMONIC_SYSEXIT, FLOW_ODD},
	{ZYDIS_MNEMONIC_UIRET, FLOW_ODD},
	{ZYDIS_MNEMONIC_JRCXZ, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_JECXZ, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_JCXZ, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_LOOP, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_LOOPE, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_LOOPNE, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_XBEGIN, FLOW_BRANCH_OTHER},
	{ZYDIS_MNEMONIC_XABORT, FLOW_NEXT},
	{ZYDIS_MNEMONIC_XEND, FLOW_NEXT},
};

static enum code_flow flow_of(const struct code_x86 *x, uint64_t address, struct code_insn *insn)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (x->insn.mnemonic == special[i].mnemonic)
			return special[i].flow == FLOW_BRANCH_OTHER
				       ? flow_of_target(x, address, insn, FLOW_BRANCH_OTHER,
							FLOW_ODD)
				       : special[i].flow;
	}
	switch (x->insn.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return x->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? FLOW_ODD : FLOW_RETURN;
	case ZYDIS_CATEGORY_CALL:
		return flow_of_target(x, address, insn, FLOW_CALL, FLOW_CALL_INDIRECT);
	case ZYDIS_CATEGORY_UNCOND_BR:
		return flow_of_target(x, address, insn, FLOW_JUMP, FLOW_JUMP_INDIRECT);
	case ZYDIS_CATEGORY_COND_BR:
		insn->condition = x->insn.opcode & 0xf;
		return flow_of_target(x, address, insn, FLOW_BRANCH, FLOW_ODD);
	default:
		return FLOW_NEXT;
	}
}

/* What may block, trap into the kernel or run for long. */
static bool is_slow(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_SYSCALL ||
	       insn->meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	       insn->meta.category == ZYDIS_CATEGORY_SYSTEM ||
	       insn->mnemonic == ZYDIS_MNEMONIC_CPUID || insn->mnemonic == ZYDIS_MNEMONIC_PAUSE ||
	       (insn->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP |
				    ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE));
}

static bool decode(const unsigned char *bytes, size_t room, uint64_t address,
		   struct code_insn *insn)
{
	struct code_x86 x;

	if (!code_x86_decode(bytes, room, &x))
		return false;
	*insn = (struct code_insn){.length = x.insn.length, .slow = is_slow(&x.insn)};
	insn->flow = flow_of(&x, address, insn);
	return true;
}

static size_t length(const unsigned char *bytes, size_t room)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	decoder_init(&decoder);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, room, &insn))
		       ? insn.length
		       : 0;
}

static size_t padding(const unsigned char *bytes, size_t room)
{
	struct code_x86 x;
	const ZydisDecodedOperand *operand = x.operand;

	if (*bytes == 0 || *bytes == 0xcc)
		return 1;
	if (!code_x86_decode(bytes, room, &x))
		return 0;
	switch (x.insn.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
		return x.insn.length;
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_MOV:
		return operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       operand[0].reg.value == operand[1].reg.value
			       ? x.insn.length
			       : 0;
	case ZYDIS_MNEMONIC_LEA:
		return code_x86_is_lea_nop(&x) ? x.insn.length : 0;
	default:
		return 0;
	}
}

bool code_x86_is_lea_nop(const struct code_x86 *x)
{
	const ZydisDecodedOperand *memory = &x->operand[1];

	return x->insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
	       memory->mem.base == x->operand[0].reg.value &&
	       memory->mem.index == ZYDIS_REGISTER_NONE && memory->mem.disp.value == 0;
}

/* Set *to to `from` + `more`, both bytes below sp at the entry. */
static void move(int32_t *to, bool *to_known, int32_t from, bool from_known, int64_t more)
{
	*to_known = from_known && more > -CODE_X86_DEEPEST && more < CODE_X86_DEEPEST &&
		    from + more > -CODE_X86_DEEPEST && from + more < CODE_X86_DEEPEST;
	*to = *to_known ? (int32_t)(from + more) : 0;
}

static void adjust_sp(struct code_frame *frame, int64_t more)
{
	move(&frame->sp, &frame->sp_known, frame->sp, frame->sp_known, more);
}

/* `reg` is sp or bp, and its new value is read from a register and a displacement. */
static void track_copy(struct code_frame *frame, bool to_sp, ZydisRegister base, int64_t added)
{
	int32_t *to = to_sp ? &frame->sp : &frame->bp;
	bool *known = to_sp ? &frame->sp_known : &frame->bp_known;

	if (base == ZYDIS_REGISTER_RSP)
		move(to, known, frame->sp, frame->sp_known, -added);
	else if (base == ZYDIS_REGISTER_RBP)
		move(to, known, frame->bp, frame->bp_known, -added);
	else
		*known = false;
}

/* A write of sp or bp that is not implied by push, pop and the like. */
static void track_write(const struct code_x86 *x, struct code_frame *frame, bool to_sp)
{
	const ZydisDecodedOperand *from = &x->operand[1];
	int64_t sign = x->insn.mnemonic == ZYDIS_MNEMONIC_SUB ? -1 : 1;

	switch (x->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		track_copy(frame, to_sp,
			   from->type == ZYDIS_OPERAND_TYPE_REGISTER ? from->reg.value
								     : ZYDIS_REGISTER_NONE,
			   0);
		break;
	case ZYDIS_MNEMONIC_LEA:
		track_copy(frame, to_sp,
			   from->mem.index == ZYDIS_REGISTER_NONE ? from->mem.base
								  : ZYDIS_REGISTER_NONE,
			   from->mem.disp.value);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		track_copy(frame, to_sp,
			   from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? x->operand[0].reg.value
								      : ZYDIS_REGISTER_NONE,
			   from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? sign * from->imm.value.s
								      : 0);
		break;
	default:
		*(to_sp ? &frame->sp_known : &frame->bp_known) = false;
	}
}

static void track_leave(struct code_frame *frame)
{
	frame->sp = frame->bp;
	frame->sp_known = frame->bp_known;
	frame->bp_known = false;
	adjust_sp(frame, -8);
}

static void track_pop(const struct code_x86 *x, struct code_frame *frame)
{
	adjust_sp(frame, -(x->insn.operand_width / 8));
	if (x->operand[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	if (code_x86_whole(x->operand[0].reg.value) == ZYDIS_REGISTER_RSP)
		frame->sp_known = false;
	if (code_x86_whole(x->operand[0].reg.value) == ZYDIS_REGISTER_RBP)
		frame->bp_known = false;
}

static void track(const unsigned char *bytes, size_t room, uint64_t address,
		  struct code_frame *frame)
{
	struct code_x86 x;
	struct code_insn insn;

	if (!code_x86_decode(bytes, room, &x) || !decode(bytes, room, address, &insn))
		return;
	switch (x.insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		adjust_sp(frame, x.insn.operand_width / 8);
		return;
	case ZYDIS_MNEMONIC_POP:
		track_pop(&x, frame);
		return;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		adjust_sp(frame, -(x.insn.operand_width / 8));
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		track_leave(frame);
		return;
	case ZYDIS_MNEMONIC_CALL:
		if (insn.flow == FLOW_CALL && insn.target == address + insn.length)
			adjust_sp(frame, 8);
		return;
	default:
		break;
	}
	if (insn.flow != FLOW_NEXT)
		return;
	if (code_x86_writes(&x, ZYDIS_REGISTER_RSP))
		track_write(&x, frame, true);
	if (code_x86_writes(&x, ZYDIS_REGISTER_RBP))
		track_write(&x, frame, false);
}

static uint64_t writes(const unsigned char *bytes, size_t room)
{
	struct code_x86 x;
	uint64_t mask = 0;

	if (!code_x86_decode(bytes, room, &x))
		return UINT64_MAX;
	for (int i = 0; i < 16; i++) {
		if (code_x86_writes(&x, (ZydisRegister)(ZYDIS_REGISTER_RAX + i)))
			mask |= UINT64_C(1) << i;
	}
	return mask;
}

static bool idle(const unsigned char *bytes, size_t room)
{
	struct code_x86 x;

	return code_x86_decode(bytes, room, &x) &&
	       (x.insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || x.insn.mnemonic == ZYDIS_MNEMONIC_NOP);
}

static void text(const unsigned char *bytes, size_t room, uint64_t address,
		 char text[CODE_TEXT_ROOM])
{
	ZydisFormatter formatter;
	struct code_x86 x;

	if (!code_x86_decode(bytes, room, &x) ||
	    !ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &x.insn, x.operand,
							  x.insn.operand_count_visible, text,
							  CODE_TEXT_ROOM, address, NULL)))
		snprintf(text, CODE_TEXT_ROOM, "(bad)");
}

const struct code_machine code_x86_machine = {
	.stack_pointer = ZYDIS_REGISTER_RSP - ZYDIS_REGISTER_RAX,
	.lock_prefix = 0xf0,
	.decode = decode,
	.length = length,
	.padding = padding,
	.track = track,
	.indirect = code_x86_table_resolve,
	.classify = code_x86_classify,
	.writes = writes,
	.copy = code_x86_copy,
	.find_stack_load = code_x86_find_stack_load,
	.idle = idle,
	.text = text,
};
