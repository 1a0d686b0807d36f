/*
 * x86-64: which instructions copy addresses of the stack between registers and memory, and which
 * bytes may be an instruction that loads rsp. Encodings: Intel SDM volume 2, 2.1 and 2.2.1.
 */
#include "target/code_x86.h"

#define N_REGISTERS 16

/* What a callee may change: System V ABI, AMD64 supplement, figure 3.4. */
static const ZydisRegister changed_by_calls[] = {
	ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
	ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R8,
	ZYDIS_REGISTER_R9,  ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11,
};

static uint64_t bit_of(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15
		       ? UINT64_C(1) << (reg - ZYDIS_REGISTER_RAX)
		       : 0;
}

/* The bit of a 64-bit register operand; 0 when it is something else. */
static uint64_t whole(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? bit_of(operand->reg.value) : 0;
}

static uint8_t number(uint64_t bit)
{
	return (uint8_t)__builtin_ctzll(bit);
}

/* Registers that are written; rsp not where the instruction only pushes or pops. */
static uint64_t writes(const struct code_x86 *x)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < x->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &x->operand[i];
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		uint64_t reg = bit_of(code_x86_whole(operand->reg.value));
		if (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		    reg != bit_of(ZYDIS_REGISTER_RSP))
			mask |= reg;
	}
	return mask;
}

static void gets(struct code_copy *copy, enum code_copy_kind kind, uint64_t to, uint64_t from)
{
	if (!to || !from)
		return;
	copy->kind = kind;
	copy->to = number(to);
	copy->from = from;
}

/* mov between two places: one of them may be a slot in the frame. */
static void take_mov(const struct code_x86 *x, struct code_copy *copy)
{
	bool saves = x->operand[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
	const ZydisDecodedOperand *memory = &x->operand[saves ? 0 : 1];
	uint64_t reg = whole(&x->operand[saves ? 1 : 0]);
	uint64_t base = bit_of(memory->mem.base);

	if (memory->type != ZYDIS_OPERAND_TYPE_MEMORY) {
		gets(copy, COPY_ANY, reg, whole(memory));
		return;
	}
	if (memory->mem.index != ZYDIS_REGISTER_NONE || !base || !reg ||
	    memory->mem.segment == ZYDIS_REGISTER_FS || memory->mem.segment == ZYDIS_REGISTER_GS)
		return;
	copy->kind = saves ? COPY_SAVE : COPY_LOAD;
	copy->base = number(base);
	copy->displacement = memory->mem.disp.value;
	copy->from = reg;
	copy->to = number(reg);
}

/*
 * lea -8(%r10),%rsp is how gcc takes down a frame that it has aligned: r10 was sp at the entry, and
 * was pushed, so that it is not seen where it was saved.
 */
static void take_lea(const struct code_x86 *x, uint64_t to, struct code_copy *copy)
{
	const ZydisDecodedOperand *memory = &x->operand[1];
	uint64_t from = bit_of(memory->mem.base) | bit_of(memory->mem.index);

	if (to == bit_of(ZYDIS_REGISTER_RSP) && from == bit_of(ZYDIS_REGISTER_R10) &&
	    memory->mem.disp.value == -8)
		from |= to;
	gets(copy, COPY_ANY, to, from);
}

static void take_xchg(uint64_t one, uint64_t other, struct code_copy *copy)
{
	uint64_t sp = bit_of(ZYDIS_REGISTER_RSP);

	if (one == sp || other == sp)
		gets(copy, COPY_ANY, sp, (one | other) & ~sp);
}

void code_x86_copy(const unsigned char *bytes, size_t room, struct code_copy *copy)
{
	const uint64_t sp = bit_of(ZYDIS_REGISTER_RSP), bp = bit_of(ZYDIS_REGISTER_RBP);
	struct code_x86 x;

	if (!code_x86_decode(bytes, room, &x))
		return;
	*copy = (struct code_copy){.writes = writes(&x)};
	if (x.insn.meta.category == ZYDIS_CATEGORY_CALL) {
		for (size_t i = 0; i < sizeof(changed_by_calls) / sizeof(*changed_by_calls); i++)
			copy->writes |= bit_of(changed_by_calls[i]);
		return;
	}
	uint64_t to = whole(&x.operand[0]), from = whole(&x.operand[1]);
	if (x.insn.meta.category == ZYDIS_CATEGORY_CMOV && from) {
		gets(copy, COPY_ALL, to, to | from);
		return;
	}
	switch (x.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		take_mov(&x, copy);
		break;
	case ZYDIS_MNEMONIC_LEA:
		take_lea(&x, to, copy);
		break;
	case ZYDIS_MNEMONIC_ADD: /* to rsp: the distance of another stack; compilers only subtract
				  */
		if (to != sp || x.operand[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			gets(copy, COPY_ANY, to, to | from);
		break;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
		gets(copy, COPY_ANY, to, to | from);
		break;
	case ZYDIS_MNEMONIC_SUB:
		gets(copy, COPY_ANY, to, to);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		take_xchg(to, from, copy);
		break;
	case ZYDIS_MNEMONIC_POP: /* assembler code that has aligned its stack pops the old one */
		if (to == sp)
			*copy = (struct code_copy){COPY_LOAD, number(sp), number(sp),
						   0,	      0,	  copy->writes};
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		copy->writes |= sp;
		gets(copy, COPY_ANY, sp, bp);
		break;
	default:
		break;
	}
}

/* ---- bytes ---- */

/* ModRM: bits 7-6 mod, 5-3 reg, 2-0 rm. rsp is 4, rbp 5; rm 4 without mod 3 is a SIB byte. */
enum { SP = 4, BP = 5, DIRECT = 3 };

static bool reg_is_sp(unsigned rex, unsigned modrm)
{
	return !(rex & 4) && (modrm >> 3 & 7) == SP;
}

static bool rm_is_sp(unsigned rex, unsigned modrm)
{
	return !(rex & 1) && modrm >> 6 == DIRECT && (modrm & 7) == SP;
}

/* lea with rsp, rbp, or the r10 of gcc's aligned stacks as the base: how frames are taken down.
 * `sib`: the byte after ModRM, SIB or displacement. */
static bool is_frame_lea(unsigned rex, unsigned modrm, unsigned sib)
{
	unsigned rm = modrm & 7, mod = modrm >> 6;

	if (rex & 1)
		return rm == 2 && mod == 1 && sib == 0xf8; /* -8(%r10): r10 is 2 with REX.B */
	return (rm == BP && mod != 0) || (rm == SP && (sib & 7) == SP);
}

/* The opcodes that may load rsp, each with REX.W before it; `at` is the opcode's, `after` the
 * byte behind ModRM. */
static bool loads(const unsigned char *at, unsigned rex, unsigned after)
{
	unsigned modrm = at[1];

	switch (at[0]) {
	case 0x03: /* add to reg */
		return reg_is_sp(rex, modrm);
	case 0x01: /* add from reg */
		return rm_is_sp(rex, modrm);
	case 0x8b: /* mov to reg; mov %rbp,%rsp takes a frame down */
		return reg_is_sp(rex, modrm) && (rex & 1 || modrm != 0xe5);
	case 0x89: /* mov from reg */
		return rm_is_sp(rex, modrm) && (rex & 4 || modrm != 0xec);
	case 0x8d: /* lea */
		return reg_is_sp(rex, modrm) && modrm >> 6 != DIRECT &&
		       !is_frame_lea(rex, modrm, after);
	case 0x87: /* xchg */
		return reg_is_sp(rex, modrm) || rm_is_sp(rex, modrm);
	case 0x94: /* xchg with rax */
		return !(rex & 1);
	default:
		return false;
	}
}

/* 5c, pop %rsp, is part of too many instructions: it counts before a return or another pop. */
static bool is_pop(const unsigned char *at, unsigned next)
{
	unsigned after = at[1] == 0x41 ? next : at[1];

	return after == 0xc3 || after >> 3 == 0x58 >> 3;
}

/*
 * For each byte as a prefix, an opcode and what follows: which forms it may be part of. Three
 * loads and no branch for a byte of code, most of which has none.
 */
struct forms {
	uint8_t prefix[256], opcode[256], next[256];
};

enum { TO_REG = 1, TO_RM = 2, TO_EITHER = 4, POPS = 8 };

static void forms_init(struct forms *forms)
{
	*forms = (struct forms){.opcode = {[0x01] = TO_RM,
					   [0x03] = TO_REG,
					   [0x8b] = TO_REG,
					   [0x8d] = TO_REG,
					   [0x87] = TO_REG | TO_RM,
					   [0x89] = TO_RM,
					   [0x94] = TO_EITHER,
					   [0x5c] = POPS}};
	for (unsigned byte = 0; byte < 256; byte++) {
		forms->prefix[byte] = byte >> 3 == 0x48 >> 3 ? TO_REG | TO_RM | TO_EITHER : 0;
		forms->prefix[byte] |= (byte & 0xf1) != 0x41 ? POPS : 0;
		forms->next[byte] = TO_EITHER;
		forms->next[byte] |= reg_is_sp(0, byte) ? TO_REG : 0;
		forms->next[byte] |= rm_is_sp(0, byte) ? TO_RM : 0;
		forms->next[byte] |=
			byte == 0xc3 || byte == 0x41 || byte >> 3 == 0x58 >> 3 ? POPS : 0;
	}
}

size_t code_x86_find_stack_load(const unsigned char *bytes, size_t from, size_t length)
{
	struct forms forms;

	forms_init(&forms);
	for (size_t i = from + 1; i + 1 < length; i++) {
		if (!(forms.prefix[bytes[i - 1]] & forms.opcode[bytes[i]] &
		      forms.next[bytes[i + 1]]))
			continue;
		unsigned after = i + 2 < length ? bytes[i + 2] : 0;
		if (bytes[i] == 0x5c ? is_pop(bytes + i, after)
				     : loads(bytes + i, bytes[i - 1], after))
			return bytes[i] == 0x5c ? i : i - 1;
	}
	return length;
}
