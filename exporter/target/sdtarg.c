/* Splitting a note's arguments; sizes and types; what operands of all machines have in common. */
#include "target/sdtarg.h"

#include <ctype.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "target/sdtarg_machine.h"

bool sdtarg_refuse(struct sdtarg_reading *reading, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reading->out->problem, sizeof(reading->out->problem), fmt, args);
	va_end(args);
	return false;
}

/* ---- text ---- */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void sdtarg_skip_blanks(struct sdtarg_text *text)
{
	while (text->at < text->end && is_blank(*text->at))
		text->at++;
}

struct sdtarg_text sdtarg_trim(struct sdtarg_text text)
{
	sdtarg_skip_blanks(&text);
	while (text.end > text.at && is_blank(text.end[-1]))
		text.end--;
	return text;
}

size_t sdtarg_word(struct sdtarg_text text)
{
	const char *at = text.at;

	while (at < text.end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.' ||
				 *at == '$' || (unsigned char)*at >= 0x80))
		at++;
	return (size_t)(at - text.at);
}

/* The length of "N@", "-N@" or "Nf@" at the start; 0 when there is none. */
static size_t prefix_length(struct sdtarg_text text)
{
	const char *at = text.at, *digits;

	if (at < text.end && *at == '-')
		at++;
	for (digits = at; at < text.end && is_digit(*at);)
		at++;
	if (at == digits)
		return 0;
	if (at < text.end && *at == 'f')
		at++;
	return at < text.end && *at == '@' ? (size_t)(at + 1 - text.at) : 0;
}

/* ---- expressions ---- */

/* A number as GNU as reads it; false when it is none, or does not fit 64 bits. */
static bool read_number(struct sdtarg_text word, uint64_t *value)
{
	unsigned base = 10;

	if (word.end - word.at > 1 && *word.at == '0') {
		char mark = (char)tolower((unsigned char)word.at[1]);
		base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
		word.at += base == 8 ? 1 : 2;
	}
	*value = 0;
	if (word.at == word.end)
		return false;
	for (; word.at < word.end; word.at++) {
		int c = tolower((unsigned char)*word.at);
		unsigned digit = is_digit((char)c) ? (unsigned)(c - '0')
				 : c >= 'a'	   ? (unsigned)(c - 'a') + 10
						   : 99;
		if (digit >= base || __builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, digit, value))
			return false;
	}
	return true;
}

/* A name, with its quotes taken off; moves `text` past it. */
static struct sdtarg_text take_name(struct sdtarg_text *text)
{
	struct sdtarg_text name = {text->at, text->at + sdtarg_word(*text)};
	const char *close = NULL;

	if (text->at < text->end && *text->at == '"')
		close = memchr(text->at + 1, '"', (size_t)(text->end - text->at) - 1);
	if (close)
		name = (struct sdtarg_text){text->at + 1, close};
	text->at = close ? close + 1 : name.end;
	return name;
}

static int shown(struct sdtarg_text text)
{
	return text.end - text.at < 60 ? (int)(text.end - text.at) : 60;
}

static bool add_term(struct sdtarg_reading *reading, struct sdtarg_text *text, bool minus,
		     struct sdtarg_sum *sum)
{
	struct sdtarg_text whole = *text, word = take_name(text);
	uint64_t value;

	if (word.at == word.end)
		return sdtarg_refuse(reading, "\"%.*s\" is not understood", shown(whole), whole.at);
	if (whole.at == word.at && is_digit(*word.at)) {
		if (!read_number(word, &value))
			return sdtarg_refuse(reading, "%.*s is not a number of 64 bits",
					     shown(word), word.at);
		sum->value = (int64_t)((uint64_t)sum->value + (minus ? 0 - value : value));
		return true;
	}
	if (minus || sum->symbol.at != sum->symbol.end)
		return sdtarg_refuse(reading, "it is computed from several symbols");
	sum->symbol = word;
	return true;
}

bool sdtarg_add_up(struct sdtarg_reading *reading, struct sdtarg_text text, struct sdtarg_sum *sum)
{
	bool first = true;

	memset(sum, 0, sizeof(*sum));
	for (;; first = false) {
		bool minus = false, sign = false;
		sdtarg_skip_blanks(&text);
		for (; text.at < text.end && (*text.at == '+' || *text.at == '-'); sign = true) {
			minus ^= *text.at++ == '-';
			sdtarg_skip_blanks(&text);
		}
		if (text.at == text.end && !first && !sign)
			return true;
		if (!first && !sign)
			return sdtarg_refuse(reading, "\"%.*s\" is not understood", shown(text),
					     text.at);
		if (!add_term(reading, &text, minus, sum))
			return false;
	}
}

/* ---- results ---- */

bool sdtarg_set_register(struct sdtarg_reading *reading, unsigned offset, unsigned width,
			 unsigned shift)
{
	struct up_arg *arg = &reading->out->arg;

	if (reading->out->is_float && arg->size > width)
		return sdtarg_refuse(reading, "a double in a register of %u bytes", width);
	if (!reading->sized || arg->size > width)
		arg->size = (uint8_t)width;
	arg->kind = UP_ARG_REGISTER;
	arg->base = (uint16_t)offset;
	arg->shift = (uint8_t)shift;
	return true;
}

bool sdtarg_set_constant(struct sdtarg_reading *reading, int64_t value)
{
	struct up_arg *arg = &reading->out->arg;
	unsigned unused = 64 - 8 * arg->size;

	value = (int64_t)((uint64_t)value << unused);
	arg->value = arg->is_signed ? value >> unused : (int64_t)((uint64_t)value >> unused);
	arg->kind = UP_ARG_CONSTANT;
	return true;
}

bool sdtarg_set_memory(struct sdtarg_reading *reading, unsigned base, unsigned index,
		       unsigned shift, int64_t displacement)
{
	struct up_arg *arg = &reading->out->arg;

	arg->kind = UP_ARG_MEMORY;
	arg->base = (uint16_t)base;
	arg->index = (uint16_t)index;
	arg->shift = (uint8_t)shift;
	arg->value = displacement;
	return true;
}

/* ---- arguments ---- */

static const char *type_name(const struct sdtarg *arg)
{
	static const char *const names[2][9] = {
		{[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"},
		{[1] = "int8_t", [2] = "int16_t", [4] = "int32_t", [8] = "int64_t"}};
	unsigned size = arg->arg.size;

	if (arg->is_float)
		return size == 4 ? "float" : size == 8 ? "double" : NULL;
	return size <= 8 ? names[arg->arg.is_signed][size] : NULL;
}

/* Sizes of values that are passed in one piece. */
static bool check_size(struct sdtarg_reading *reading, unsigned size)
{
	struct sdtarg *out = reading->out;

	out->arg.size = size <= 8 ? (uint8_t)size : 0;
	out->type = type_name(out);
	if (out->type)
		return true;
	return sdtarg_refuse(reading, "a %s of %u bytes", out->is_float ? "float" : "value", size);
}

/* "-4@": moves `text` to the operand. Without it, 8 bytes without a sign, or a whole register. */
static bool read_prefix(struct sdtarg_reading *reading, struct sdtarg_text *text)
{
	size_t length = prefix_length(*text);
	const char *at = text->at;
	unsigned size = 0;

	text->at += length;
	*text = sdtarg_trim(*text);
	reading->out->operand = text->at;
	reading->out->operand_length = (size_t)(text->end - text->at);
	if (!length)
		return check_size(reading, 8);
	reading->sized = true;
	bool negative = *at == '-';
	at += negative;
	for (; is_digit(*at); at++)
		size = size < 100000 ? 10 * size + (unsigned)(*at - '0') : size;
	reading->out->is_float = *at == 'f';
	reading->out->arg.is_signed = negative && !reading->out->is_float;
	return check_size(reading, size);
}

static void read_argument(const struct sdtarg_site *site, struct sdtarg_text text,
			  struct sdtarg *out)
{
	struct sdtarg_reading reading = {.site = site, .out = out};
	bool ok = read_prefix(&reading, &text);

	if (ok && text.at == text.end)
		ok = sdtarg_refuse(&reading, "it has no operand");
	else if (ok && site->machine == EM_X86_64)
		ok = sdtarg_x86(&reading, text);
	else if (ok && site->machine == EM_AARCH64)
		ok = sdtarg_arm64(&reading, text);
	else if (ok)
		ok = sdtarg_refuse(&reading, "operands of machine %u are not known", site->machine);
	if (ok)
		out->type = type_name(out);
	else
		out->arg = (struct up_arg){0};
}

/*
 * Whether a blank ends an argument. It does before a size; else not in brackets or quotes, nor
 * beside what joins two parts of one operand.
 */
static bool ends_argument(const char *before, struct sdtarg_text after, int depth)
{
	sdtarg_skip_blanks(&after);
	if (after.at == after.end || prefix_length(after))
		return true;
	return depth <= 0 && !strchr("+-*,@:$#([", *before) && !strchr("+-*,@:)]", *after.at);
}

static struct sdtarg_text next_argument(struct sdtarg_text *text)
{
	struct sdtarg_text argument;
	bool quoted = false;
	int depth = 0;

	sdtarg_skip_blanks(text);
	argument = *text;
	for (const char *last = text->at; text->at < text->end; text->at++) {
		char c = *text->at;
		if (is_blank(c) && ends_argument(last, *text, depth + quoted))
			break;
		if (is_blank(c))
			continue;
		quoted ^= c == '"';
		depth += (c == '(' || c == '[') - (c == ')' || c == ']');
		last = text->at;
	}
	argument.end = text->at;
	return argument;
}

size_t sdtarg_parse(const char *text, const struct sdtarg_site *site, struct sdtarg *out,
		    size_t room)
{
	struct sdtarg_text rest = {text, text + strlen(text)};
	size_t n = 0;

	for (;; n++) {
		struct sdtarg_text argument = next_argument(&rest);
		if (argument.at == argument.end)
			return n;
		if (n >= room)
			continue;
		memset(&out[n], 0, sizeof(out[n]));
		read_argument(site, argument, &out[n]);
	}
}
