/*
 * arm64 operands: xN, wN, sp, constants, and memory as [base], [base, offset], [base, index] and
 * [base, index, lsl N]. Register offsets: struct user_pt_regs (asm/ptrace.h): x0 to x30, sp, pc.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "target/sdtarg_machine.h"

enum { SP = 31 * 8, PC = 32 * 8, ZERO = UP_ARG_NO_REGISTER };

struct reg {
	unsigned offset, width;
};

static int shown(struct sdtarg_text text)
{
	return text.end - text.at < 60 ? (int)(text.end - text.at) : 60;
}

static bool equals(struct sdtarg_text text, const char *name)
{
	size_t length = strlen(name);

	return (size_t)(text.end - text.at) == length && strncasecmp(text.at, name, length) == 0;
}

/* One or two digits without a leading zero; -1 when it is something else. */
static int small_number(struct sdtarg_text text)
{
	int value = 0;

	if (text.at == text.end || text.end - text.at > 2 ||
	    (*text.at == '0' && text.end - text.at > 1))
		return -1;
	for (; text.at < text.end; text.at++) {
		if (*text.at < '0' || *text.at > '9')
			return -1;
		value = 10 * value + *text.at - '0';
	}
	return value;
}

/* The registers a probe sees; false when the name is none of them. */
static bool find_register(struct sdtarg_text name, struct reg *reg)
{
	static const struct {
		const char *name;
		struct reg reg;
	} named[] = {
		{"sp", {SP, 8}},    {"wsp", {SP, 4}},	 {"pc", {PC, 8}},     {"xzr", {ZERO, 8}},
		{"wzr", {ZERO, 4}}, {"fp", {29 * 8, 8}}, {"lr", {30 * 8, 8}},
	};
	int number;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (equals(name, named[i].name)) {
			*reg = named[i].reg;
			return true;
		}
	if (name.at == name.end || !strchr("xXwW", *name.at))
		return false;
	number = small_number((struct sdtarg_text){name.at + 1, name.end});
	*reg = (struct reg){8 * (unsigned)number, strchr("xX", *name.at) ? 8 : 4};
	return number >= 0 && number <= 30;
}

/* v0, q1, d2, s3, h4, b5, z6, p7 and their parts. */
static bool is_vector(struct sdtarg_text name)
{
	const char *dot = memchr(name.at, '.', (size_t)(name.end - name.at));
	struct sdtarg_text number = {name.at + 1, dot ? dot : name.end};

	return name.at < name.end && strchr("vqdshbzpVQDSHBZP", *name.at) &&
	       small_number(number) >= 0;
}

static struct sdtarg_text take_part(struct sdtarg_text *text)
{
	struct sdtarg_text part = *text;
	const char *comma = memchr(text->at, ',', (size_t)(text->end - text->at));

	part.end = comma ? comma : text->end;
	text->at = comma ? comma + 1 : text->end;
	return sdtarg_trim(part);
}

static bool read_number(struct sdtarg_reading *reading, struct sdtarg_text text, int64_t *value)
{
	struct sdtarg_sum sum;

	if (text.at < text.end && *text.at == '#')
		text.at++;
	if (text.at < text.end && *text.at == ':')
		return sdtarg_refuse(reading, "a part of a symbol's address: \"%.*s\"", shown(text),
				     text.at);
	if (!sdtarg_add_up(reading, text, &sum))
		return false;
	*value = sum.value;
	if (sum.symbol.at != sum.symbol.end)
		return sdtarg_refuse(reading, "\"%.*s\" is neither a register nor a number",
				     shown(text), text.at);
	return true;
}

/* "lsl 3": nothing, or how far the index is shifted. */
static bool read_shift(struct sdtarg_reading *reading, struct sdtarg_text text, int64_t *shift)
{
	struct sdtarg_text name = {text.at, text.at + sdtarg_word(text)};

	*shift = 0;
	if (text.at == text.end)
		return true;
	if (!equals(name, "lsl"))
		return sdtarg_refuse(reading, "an index that is extended: %.*s", shown(text),
				     text.at);
	if (!read_number(reading, sdtarg_trim((struct sdtarg_text){name.end, text.end}), shift))
		return false;
	if (*shift < 0 || *shift > 4)
		return sdtarg_refuse(reading, "\"%.*s\" is not a shift", shown(text), text.at);
	return true;
}

static bool read_memory(struct sdtarg_reading *reading, struct sdtarg_text text)
{
	struct sdtarg_text base = take_part(&text), second = take_part(&text);
	struct sdtarg_text third = take_part(&text);
	struct reg base_reg, index_reg;
	int64_t offset = 0, shift;

	if (text.at != text.end)
		return sdtarg_refuse(reading, "more than a base, an index and a shift");
	if (!find_register(base, &base_reg) || base_reg.width != 8 || base_reg.offset == ZERO)
		return sdtarg_refuse(reading, "\"%.*s\" is not a base register", shown(base),
				     base.at);
	if (find_register(second, &index_reg)) {
		if (index_reg.width != 8 || index_reg.offset == SP || index_reg.offset == PC)
			return sdtarg_refuse(reading, "\"%.*s\" is not an index register",
					     shown(second), second.at);
		return read_shift(reading, third, &shift) &&
		       sdtarg_set_memory(reading, base_reg.offset, index_reg.offset,
					 (unsigned)shift, 0);
	}
	if (third.at != third.end)
		return sdtarg_refuse(reading, "\"%.*s\" is not an index register", shown(second),
				     second.at);
	if (second.at != second.end && !read_number(reading, second, &offset))
		return false;
	return sdtarg_set_memory(reading, base_reg.offset, UP_ARG_NO_REGISTER, 0, offset);
}

static bool read_register(struct sdtarg_reading *reading, const struct reg *reg)
{
	if (reg->offset != ZERO)
		return sdtarg_set_register(reading, reg->offset, reg->width, 0);
	return sdtarg_set_constant(reading, 0);
}

bool sdtarg_arm64(struct sdtarg_reading *reading, struct sdtarg_text operand)
{
	struct reg reg;
	int64_t value;

	if (find_register(operand, &reg))
		return read_register(reading, &reg);
	if (is_vector(operand))
		return sdtarg_refuse(reading, "a probe does not see register %.*s", shown(operand),
				     operand.at);
	if (*operand.at == '[' && operand.end[-1] == ']')
		return read_memory(reading, (struct sdtarg_text){operand.at + 1, operand.end - 1});
	if (*operand.at == '[')
		return sdtarg_refuse(reading, "\"%.*s\" is not understood", shown(operand),
				     operand.at);
	return read_number(reading, operand, &value) && sdtarg_set_constant(reading, value);
}
