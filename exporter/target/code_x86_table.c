/*
 * Where an indirect jump of x86-64 code goes: through a jump table of a switch, or out of the
 * function (a tail call through a pointer).
 *
 * The forms that gcc and clang make:
 *
 *	cmp $N,%i; ja default               bound
 *	lea table(%rip),%t                  position-independent: offsets from the table
 *	movslq (%t,%i,4),%x; add %t,%x
 *	notrack jmp *%x
 *
 *	jmp *table(,%i,8)                   addresses; also through mov table(,%i,8),%x
 *
 * They are found by going back from the jump along the path on which the walk came to it. A bound
 * that is missed, or is that of another path, is no danger: a table read too far makes the decode
 * fail, and one read too short leaves code unreached, which the walk reports.
 */
#include "target/code_x86.h"

#include <string.h>

#define FARTHEST     4000  /* instructions looked back: table addresses are moved out of loops */
#define BOUND_NEAR   64	   /* the bound stands near */
#define MOST_ENTRIES 16384 /* of one table */
#define MOST_COPIES  16

static const char no_bound[] = "goes through a table that cannot be read";
static const char not_understood[] = "is not understood";

/* One instruction on the way back. */
struct at {
	uint32_t index; /* of the step; CODE_NONE: before the entry */
	const struct code_step *step;
	struct code_x86 x;
};

static bool look(const struct code_view *view, uint32_t index, struct at *at)
{
	size_t room;
	const unsigned char *bytes;

	at->index = index;
	if (index == CODE_NONE)
		return false;
	at->step = &view->code->steps.at[index];
	bytes = code_bytes(view->code, at->step->address, &room);
	return bytes && code_x86_decode(bytes, room, &at->x);
}

static bool is_call(const struct code_step *step)
{
	return step->flow == FLOW_CALL || step->flow == FLOW_CALL_SLOT ||
	       step->flow == FLOW_CALL_INDIRECT;
}

/* System V ABI, AMD64 supplement, figure 3.4: what a callee keeps. */
static bool kept_by_calls(ZydisRegister whole)
{
	return whole == ZYDIS_REGISTER_RBX || whole == ZYDIS_REGISTER_RBP ||
	       (whole >= ZYDIS_REGISTER_R12 && whole <= ZYDIS_REGISTER_R15);
}

enum found { FOUND_WRITE, FOUND_CALL, FOUND_ENTRY, FOUND_NOTHING };

/* Go back from before step `index` to the instruction that gives the register its value. */
static enum found find_write(const struct code_view *view, uint32_t index, ZydisRegister whole,
			     struct at *at)
{
	uint32_t before = view->code->steps.at[index].from;

	for (unsigned i = 0; i < FARTHEST; i++) {
		if (!look(view, before, at))
			return before == CODE_NONE ? FOUND_ENTRY : FOUND_NOTHING;
		if (is_call(at->step)) {
			if (!kept_by_calls(whole))
				return FOUND_CALL;
		} else if (code_x86_writes(&at->x, whole)) {
			return FOUND_WRITE;
		}
		before = at->step->from;
	}
	return FOUND_NOTHING;
}

/* mov %a,%b between whole registers, or their lower halves. */
static bool is_copy(const struct code_x86 *x, ZydisRegister *from)
{
	if (x->insn.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    x->operand[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    x->operand[1].type != ZYDIS_OPERAND_TYPE_REGISTER || x->operand[0].size < 32)
		return false;
	*from = code_x86_whole(x->operand[1].reg.value);
	return true;
}

/* Whether the register's value before step `index` is a known address: lea or mov of one. */
static bool find_address(const struct code_view *view, uint32_t index, ZydisRegister whole,
			 uint64_t *address)
{
	struct at at = {.index = index};

	for (unsigned i = 0; i < MOST_COPIES; i++) {
		if (find_write(view, at.index, whole, &at) != FOUND_WRITE)
			return false;
		if (is_copy(&at.x, &whole))
			continue;
		if (at.x.insn.mnemonic == ZYDIS_MNEMONIC_LEA)
			return code_x86_fixed(&at.x, &at.x.operand[1], at.step->address, address);
		if (at.x.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    at.x.operand[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			*address = at.x.operand[1].imm.value.u;
			return true;
		}
		return false;
	}
	return false;
}

/* ---- the bound of the index ---- */

/* What holds the index: a register, or the place in memory that it was loaded from. */
struct holder {
	bool in_memory;
	ZydisRegister whole;
	ZydisDecodedOperandMem memory;
	int64_t added; /* the index is what is held, plus this */
};

static bool same_memory(const ZydisDecodedOperandMem *a, const ZydisDecodedOperandMem *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale &&
	       a->disp.value == b->disp.value && a->segment == b->segment;
}

static bool holds(const struct holder *holder, const ZydisDecodedOperand *operand)
{
	if (holder->in_memory)
		return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		       same_memory(&holder->memory, &operand->mem);
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       code_x86_whole(operand->reg.value) == holder->whole;
}

/*
 * The most that a value can be when this condition holds after `cmp $limit,value`; -1 when that
 * says nothing. Conditions: 2 b, 6 be, c l, e le.
 */
static int64_t bound_after(int64_t limit, uint8_t condition)
{
	switch (condition) {
	case 0x2:
	case 0xc:
		return limit - 1;
	case 0x6:
	case 0xe:
		return limit;
	default:
		return -1;
	}
}

static bool bound_by(uint16_t conditions, int64_t limit, const struct holder *holder,
		     int64_t *bound)
{
	for (uint8_t condition = 0; condition < 16; condition++) {
		if ((conditions & 1u << condition) && bound_after(limit, condition) >= 0) {
			*bound = bound_after(limit, condition) + holder->added;
			return true;
		}
	}
	return false;
}

/* Step back over an instruction that computes the index; false when it cannot be followed. */
static bool unfold(const struct at *at, struct holder *holder, int64_t *bound)
{
	const ZydisDecodedOperand *from = &at->x.operand[1];
	bool constant = from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (at->x.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		holder->in_memory = from->type == ZYDIS_OPERAND_TYPE_MEMORY;
		if (holder->in_memory)
			holder->memory = from->mem;
		else if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
			holder->whole = code_x86_whole(from->reg.value);
		else
			return false;
		return true;
	case ZYDIS_MNEMONIC_AND:
		if (constant && from->imm.value.s >= 0)
			*bound = from->imm.value.s + holder->added;
		return false;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (!constant || from->imm.value.s > INT32_MAX || from->imm.value.s < INT32_MIN)
			return false;
		holder->added += at->x.insn.mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s
									   : -from->imm.value.s;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.index != ZYDIS_REGISTER_NONE ||
		    from->mem.base == ZYDIS_REGISTER_NONE || from->mem.base == ZYDIS_REGISTER_RIP)
			return false;
		holder->whole = code_x86_whole(from->mem.base);
		holder->added += from->mem.disp.value;
		return true;
	default:
		return false;
	}
}

/* The largest value of the index register before step `index`; -1 when it is not known. */
static int64_t find_bound(const struct code_view *view, uint32_t index, ZydisRegister whole)
{
	struct holder holder = {.whole = whole};
	const struct code_step *after = &view->code->steps.at[index];
	int64_t bound = -1;
	uint16_t conditions = 0; /* that hold for the flags as they are here */
	struct at at;

	for (unsigned i = 0; i < BOUND_NEAR && look(view, after->from, &at); i++) {
		const struct code_x86 *x = &at.x;
		if (at.step->flow == FLOW_BRANCH)
			conditions |= 1u << ((x->insn.opcode & 0xf) ^ !after->jumped);
		else if (x->insn.mnemonic == ZYDIS_MNEMONIC_CMP && holds(&holder, &x->operand[0]) &&
			 x->operand[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			 bound_by(conditions, x->operand[1].imm.value.s, &holder, &bound))
			return bound;
		if (!holder.in_memory && is_call(at.step) && !kept_by_calls(holder.whole))
			return bound;
		if (!holder.in_memory && !is_call(at.step) && code_x86_writes(x, holder.whole) &&
		    !unfold(&at, &holder, &bound))
			return bound;
		if (x->insn.cpu_flags && x->insn.cpu_flags->modified)
			conditions = 0;
		after = at.step;
	}
	return bound;
}

/* ---- reading tables ---- */

struct table {
	uint64_t address, base; /* entries of four bytes are relative to `base` */
	unsigned entry_size;	/* 4 or 8 */
	int64_t bound;		/* the largest index, or -1 */
};

static bool inside(const struct code *code, uint64_t address)
{
	size_t room;

	return code_bytes(code, address, &room) != NULL;
}

static bool read_entry(const struct code_view *view, const struct table *table, uint64_t i,
		       uint64_t *target)
{
	uint64_t at = table->address + i * table->entry_size, whole = 0;
	int32_t offset;

	if (!view->request->read)
		return false;
	if (table->entry_size == 8) {
		if (view->request->read(view->request->context, at, &whole, 8) != 0)
			return false;
		*target = whole;
		return true;
	}
	if (view->request->read(view->request->context, at, &offset, 4) != 0)
		return false;
	*target = table->base + (uint64_t)(int64_t)offset;
	return true;
}

/* Without a bound the table ends where the entries stop leading into the function. */
static void read_table(const struct code_view *view, const struct table *table,
		       struct code_indirect *indirect)
{
	uint64_t n = table->bound >= 0 ? (uint64_t)table->bound + 1 : MOST_ENTRIES, target;

	indirect->kind = INDIRECT_UNKNOWN;
	indirect->why = no_bound;
	if (n > MOST_ENTRIES)
		return;
	for (uint64_t i = 0; i < n; i++) {
		if (!read_entry(view, table, i, &target)) {
			if (table->bound >= 0)
				return;
			break;
		}
		if (table->bound < 0 && !inside(view->code, target))
			break;
		*vec_push(&indirect->targets) = target;
	}
	if (indirect->targets.n)
		indirect->kind = INDIRECT_TABLE;
}

/*
 * A table of addresses whose first one leads out of the function is an array of functions, and
 * the jump through it a tail call.
 */
static void read_addresses(const struct code_view *view, const struct table *table,
			   struct code_indirect *indirect)
{
	uint64_t first;

	if (read_entry(view, table, 0, &first) && first && !inside(view->code, first)) {
		indirect->kind = INDIRECT_UNSURE;
		return;
	}
	read_table(view, table, indirect);
}

/* ---- the forms ---- */

/* A jump through, or a load of, a scaled element: `operand` of step `index`. */
static bool resolve_element(const struct code_view *view, uint32_t index,
			    const ZydisDecodedOperandMem *memory, struct code_indirect *indirect)
{
	struct table table = {.entry_size = 8};

	if (memory->index == ZYDIS_REGISTER_NONE || memory->scale != 8)
		return false;
	if (memory->base != ZYDIS_REGISTER_NONE &&
	    !find_address(view, index, memory->base, &table.address)) {
		indirect->kind = INDIRECT_UNSURE;
		return true;
	}
	table.address += (uint64_t)memory->disp.value;
	table.bound = find_bound(view, index, code_x86_whole(memory->index));
	read_addresses(view, &table, indirect);
	return true;
}

/* `movslq (%t,%i,4),%x` at `at`, to be added to `base`. */
static bool resolve_offsets(const struct code_view *view, const struct at *at, uint64_t base,
			    struct code_indirect *indirect)
{
	const ZydisDecodedOperandMem *memory = &at->x.operand[1].mem;
	struct table table = {.entry_size = 4, .base = base};

	if (memory->base != ZYDIS_REGISTER_NONE &&
	    !find_address(view, at->index, memory->base, &table.address))
		return false;
	table.address += (uint64_t)memory->disp.value;
	table.bound = find_bound(view, at->index, code_x86_whole(memory->index));
	read_table(view, &table, indirect);
	return true;
}

static bool loads_offset(const struct code_x86 *x)
{
	return (x->insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD ||
		x->insn.mnemonic == ZYDIS_MNEMONIC_MOV) &&
	       x->operand[1].type == ZYDIS_OPERAND_TYPE_MEMORY && x->operand[1].mem.scale == 4 &&
	       x->operand[1].mem.index != ZYDIS_REGISTER_NONE;
}

/* The sum of two registers before step `index`: one an offset from a table, one its base. */
static bool resolve_sum(const struct code_view *view, uint32_t index, ZydisRegister a,
			ZydisRegister b, struct code_indirect *indirect)
{
	const ZydisRegister order[2][2] = {{a, b}, {b, a}};
	struct at at;
	uint64_t base;

	for (unsigned i = 0; i < 2; i++) {
		if (find_write(view, index, order[i][0], &at) == FOUND_WRITE &&
		    loads_offset(&at.x) && find_address(view, index, order[i][1], &base))
			return resolve_offsets(view, &at, base, indirect);
	}
	return false;
}

/* The jump goes to what the instruction at `at` has computed. False: not one of the forms. */
static bool resolve_write(const struct code_view *view, const struct at *at,
			  struct code_indirect *indirect)
{
	const ZydisDecodedOperand *to = &at->x.operand[0], *from = &at->x.operand[1];
	uint64_t address;

	switch (at->x.insn.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		return from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       resolve_sum(view, at->index, code_x86_whole(to->reg.value),
				   code_x86_whole(from->reg.value), indirect);
	case ZYDIS_MNEMONIC_MOV:
		if (from->type != ZYDIS_OPERAND_TYPE_MEMORY)
			return false;
		if (resolve_element(view, at->index, &from->mem, indirect))
			return true;
		indirect->kind = INDIRECT_TAIL;
		if (code_x86_fixed(&at->x, from, at->step->address, &address))
			indirect->slot = address;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (!code_x86_fixed(&at->x, from, at->step->address, &address))
			return false;
		indirect->kind = inside(view->code, address) ? INDIRECT_TABLE : INDIRECT_TAIL;
		if (indirect->kind == INDIRECT_TABLE)
			*vec_push(&indirect->targets) = address;
		return true;
	default:
		return false;
	}
}

static void resolve_register(const struct code_view *view, uint32_t index, ZydisRegister whole,
			     struct code_indirect *indirect)
{
	struct at at = {.index = index};

	for (unsigned i = 0; i < MOST_COPIES; i++) {
		enum found found = find_write(view, at.index, whole, &at);
		if (found == FOUND_ENTRY) {
			indirect->kind = INDIRECT_TAIL;
			return;
		}
		if (found != FOUND_WRITE)
			break;
		if (is_copy(&at.x, &whole))
			continue;
		if (resolve_write(view, &at, indirect))
			return;
		break;
	}
	indirect->kind = INDIRECT_UNSURE;
}

void code_x86_table_resolve(const struct code_view *view, uint32_t index,
			    struct code_indirect *indirect)
{
	struct at at;
	const ZydisDecodedOperand *operand;

	indirect->why = not_understood;
	if (!look(view, index, &at))
		return;
	operand = &at.x.operand[0];
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		resolve_register(view, index, operand->reg.value, indirect);
	} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		   !resolve_element(view, index, &operand->mem, indirect)) {
		indirect->kind = INDIRECT_TAIL;
		code_x86_fixed(&at.x, operand, at.step->address, &indirect->slot);
	}
}
