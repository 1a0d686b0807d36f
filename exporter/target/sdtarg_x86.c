/*
 * x86-64 operands in AT&T syntax: %reg, $constant, displacement(base,index,scale) with each part
 * there or not, and symbols. Register offsets: struct pt_regs as user space has it
 * (asm/ptrace.h).
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "target/sdtarg_machine.h"

enum {
	R15 = 0,
	R14 = 8,
	R13 = 16,
	R12 = 24,
	RBP = 32,
	RBX = 40,
	R11 = 48,
	R10 = 56,
	R9 = 64,
	R8 = 72,
	RAX = 80,
	RCX = 88,
	RDX = 96,
	RSI = 104,
	RDI = 112,
	RIP = 128,
	RSP = 152,
};

struct reg {
	const char *name;
	uint8_t offset, width, shift;
};

#define LETTERED(letter, offset)                                                                   \
	{"r" letter "x", offset, 8, 0}, {"e" letter "x", offset, 4, 0},                            \
		{letter "x", offset, 2, 0}, {letter "l", offset, 1, 0},                            \
	{                                                                                          \
		letter "h", offset, 1, 8                                                           \
	}
#define NAMED(name, offset)                                                                        \
	{"r" name, offset, 8, 0}, {"e" name, offset, 4, 0}, {name, offset, 2, 0},                  \
	{                                                                                          \
		name "l", offset, 1, 0                                                             \
	}
#define NUMBERED(name, offset)                                                                     \
	{name, offset, 8, 0}, {name "d", offset, 4, 0}, {name "w", offset, 2, 0},                  \
	{                                                                                          \
		name "b", offset, 1, 0                                                             \
	}

static const struct reg regs[] = {
	LETTERED("a", RAX),   LETTERED("b", RBX),   LETTERED("c", RCX),	  LETTERED("d", RDX),
	NAMED("si", RSI),     NAMED("di", RDI),	    NAMED("bp", RBP),	  NAMED("sp", RSP),
	NUMBERED("r8", R8),   NUMBERED("r9", R9),   NUMBERED("r10", R10), NUMBERED("r11", R11),
	NUMBERED("r12", R12), NUMBERED("r13", R13), NUMBERED("r14", R14), NUMBERED("r15", R15),
	{"rip", RIP, 8, 0},
};

/* Registers that a program may pass values in, and that a probe does not see. */
static const char *const unseen[] = {"xmm", "ymm", "zmm", "mm", "k", "st", "r", "bnd", "tmm"};
static const char *const segments[] = {"fs", "gs", "cs", "ds", "es", "ss"};

static bool equals(struct sdtarg_text text, const char *name)
{
	size_t length = strlen(name);

	return (size_t)(text.end - text.at) == length && memcmp(text.at, name, length) == 0;
}

static int shown(struct sdtarg_text text)
{
	return text.end - text.at < 60 ? (int)(text.end - text.at) : 60;
}

static bool refuse_register(struct sdtarg_reading *reading, struct sdtarg_text name)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++) {
		size_t length = strlen(unseen[i]);
		if ((size_t)(name.end - name.at) > length &&
		    memcmp(name.at, unseen[i], length) == 0 && name.at[length] >= '0' &&
		    name.at[length] <= '9')
			return sdtarg_refuse(reading, "a probe does not see register %%%.*s",
					     shown(name), name.at);
	}
	return sdtarg_refuse(reading, "%%%.*s is not a register that is known", shown(name),
			     name.at);
}

/* "%rax": NULL, with the reason, when a probe cannot read it. */
static const struct reg *read_register(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	struct sdtarg_text name = sdtarg_trim(text);

	if (name.at == name.end || *name.at != '%') {
		sdtarg_refuse(reading, "\"%.*s\" is not a register", shown(name), name.at);
		return NULL;
	}
	name.at++;
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		if (equals(name, regs[i].name))
			return &regs[i];
	refuse_register(reading, name);
	return NULL;
}

static bool find_symbol(struct sdtarg_reading *reading, struct sdtarg_text name, uint64_t *address)
{
	const struct sdtarg_site *site = reading->site;
	const char *why = "is not known";

	if (site->symbol)
		why = site->symbol(site->context, name.at, (size_t)(name.end - name.at), address);
	return why ? sdtarg_refuse(reading, "symbol %.*s %s", shown(name), name.at, why) : true;
}

/* ---- constants ---- */

static bool read_constant(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	struct sdtarg_sum sum;
	uint64_t address = 0;

	if (!sdtarg_add_up(reading, text, &sum))
		return false;
	if (sum.symbol.at != sum.symbol.end) {
		if (!reading->site->fixed)
			return sdtarg_refuse(reading,
					     "the address of %.*s depends on where the file is "
					     "loaded",
					     shown(sum.symbol), sum.symbol.at);
		if (!find_symbol(reading, sum.symbol, &address))
			return false;
	}
	return sdtarg_set_constant(reading, (int64_t)((uint64_t)sum.value + address));
}

/* ---- memory ---- */

struct memory {
	const struct reg *base, *index;
	unsigned shift;
	struct sdtarg_sum displacement;
};

/* The text up to the next comma; moves past it. */
static struct sdtarg_text take_part(struct sdtarg_text *text)
{
	struct sdtarg_text part = *text;
	const char *comma = memchr(text->at, ',', (size_t)(text->end - text->at));

	part.end = comma ? comma : text->end;
	text->at = comma ? comma + 1 : text->end;
	return sdtarg_trim(part);
}

static bool is_address_register(struct sdtarg_reading *reading, const struct reg *reg)
{
	if (reg->width != 8)
		return sdtarg_refuse(reading, "addressed through a part of a register: %%%s",
				     reg->name);
	return true;
}

static bool read_scale(struct sdtarg_reading *reading, struct sdtarg_text text,
		       struct memory *memory)
{
	struct sdtarg_sum sum;

	if (text.at == text.end)
		return true;
	if (!sdtarg_add_up(reading, text, &sum))
		return false;
	uint64_t scale = (uint64_t)sum.value;
	if (sum.symbol.at != sum.symbol.end ||
	    (scale != 1 && scale != 2 && scale != 4 && scale != 8))
		return sdtarg_refuse(reading, "%.*s is not a scale", shown(text), text.at);
	memory->shift = (unsigned)__builtin_ctzll(scale);
	return true;
}

/* What is between the parentheses. */
static bool read_parts(struct sdtarg_reading *reading, struct sdtarg_text text,
		       struct memory *memory)
{
	struct sdtarg_text base = take_part(&text), index = take_part(&text);
	struct sdtarg_text scale = take_part(&text);

	if (text.at != text.end)
		return sdtarg_refuse(reading, "more than a base, an index and a scale");
	if (base.at != base.end) {
		memory->base = read_register(reading, base);
		if (!memory->base || !is_address_register(reading, memory->base))
			return false;
	}
	if (index.at != index.end) {
		memory->index = read_register(reading, index);
		if (!memory->index || !is_address_register(reading, memory->index))
			return false;
		if (memory->index->offset == RSP || memory->index->offset == RIP)
			return sdtarg_refuse(reading, "%%%s cannot be an index",
					     memory->index->name);
	}
	return read_scale(reading, scale, memory);
}

/*
 * A symbol moves with the file, and so does the site: the instruction pointer is the base. Beside
 * another base the symbol's address must be what was linked.
 */
static bool set_symbol(struct sdtarg_reading *reading, const struct memory *memory, unsigned index)
{
	const struct sdtarg_sum *sum = &memory->displacement;
	uint64_t address, value;

	if (memory->base && memory->base->offset != RIP && !reading->site->fixed)
		return sdtarg_refuse(reading,
				     "the address of %.*s depends on where the file is loaded",
				     shown(sum->symbol), sum->symbol.at);
	if (!find_symbol(reading, sum->symbol, &address))
		return false;
	value = address + (uint64_t)sum->value;
	if (memory->base && memory->base->offset != RIP)
		return sdtarg_set_memory(reading, memory->base->offset, index, memory->shift,
					 (int64_t)value);
	return sdtarg_set_memory(reading, RIP, index, memory->shift,
				 (int64_t)(value - reading->site->address));
}

static bool set_memory(struct sdtarg_reading *reading, const struct memory *memory)
{
	unsigned index = memory->index ? memory->index->offset : UP_ARG_NO_REGISTER;

	if (memory->base && memory->base->offset == RIP && memory->index)
		return sdtarg_refuse(reading, "%%rip with an index");
	if (memory->displacement.symbol.at != memory->displacement.symbol.end)
		return set_symbol(reading, memory, index);
	if (memory->base && memory->base->offset == RIP)
		return sdtarg_refuse(reading, "relative to an instruction that is not told");
	return sdtarg_set_memory(reading, memory->base ? memory->base->offset : UP_ARG_NO_REGISTER,
				 index, memory->shift, memory->displacement.value);
}

static bool read_memory(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	const char *open = memrchr(text.at, '(', (size_t)(text.end - text.at));
	struct sdtarg_text displacement = sdtarg_trim((struct sdtarg_text){text.at, open});
	struct memory memory = {0};

	if (text.end[-1] != ')')
		return sdtarg_refuse(reading, "\"%.*s\" is not understood", shown(text), text.at);
	if (!read_parts(reading, (struct sdtarg_text){open + 1, text.end - 1}, &memory))
		return false;
	if (displacement.at != displacement.end &&
	    !sdtarg_add_up(reading, displacement, &memory.displacement))
		return false;
	if (!memory.base && !memory.index && displacement.at == displacement.end)
		return sdtarg_refuse(reading, "it has no operand");
	return set_memory(reading, &memory);
}

/* ---- whole operands ---- */

/* "%fs:..." */
static bool is_segment(struct sdtarg_text text)
{
	struct sdtarg_text name = {text.at + 1, text.at + 1};
	const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));

	if (*text.at != '%' || !colon)
		return false;
	name.end = colon;
	name = sdtarg_trim(name);
	for (size_t i = 0; i < sizeof(segments) / sizeof(*segments); i++)
		if (equals(name, segments[i]))
			return true;
	return false;
}

static bool read_whole_register(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	const struct reg *reg = read_register(reading, text);

	return reg && sdtarg_set_register(reading, reg->offset, reg->width, reg->shift);
}

/*
 * A number alone is a constant, as SystemTap takes it (compilers that write Intel syntax leave
 * out the `$`); a symbol alone is the memory there.
 */
static bool read_bare(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	struct memory memory = {0};

	if (!sdtarg_add_up(reading, text, &memory.displacement))
		return false;
	if (memory.displacement.symbol.at == memory.displacement.symbol.end)
		return sdtarg_set_constant(reading, memory.displacement.value);
	return set_memory(reading, &memory);
}

bool sdtarg_x86(struct sdtarg_reading *reading, struct sdtarg_text operand)
{
	size_t length = (size_t)(operand.end - operand.at);

	if (is_segment(operand))
		return sdtarg_refuse(reading, "thread-local or otherwise in a segment");
	if (memchr(operand.at, '@', length))
		return sdtarg_refuse(reading, "reached through the linker's tables");
	if (*operand.at == '$' && length > 1)
		return read_constant(reading, (struct sdtarg_text){operand.at + 1, operand.end});
	if (*operand.at == '%')
		return read_whole_register(reading, operand);
	return memchr(operand.at, '(', length) ? read_memory(reading, operand)
					       : read_bare(reading, operand);
}
