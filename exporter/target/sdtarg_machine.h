/* What sdtarg.c shares with the machines' own operands. */
#ifndef TARGET_SDTARG_MACHINE_H
#define TARGET_SDTARG_MACHINE_H

#include "target/sdtarg.h"

/* A piece of the note's text. */
struct sdtarg_text {
	const char *at, *end;
};

/* An argument being read: the size is known, where it lies is not yet. */
struct sdtarg_reading {
	const struct sdtarg_site *site;
	struct sdtarg *out;
	bool sized; /* a size was written */
};

/* Read an operand into reading->out->arg; false with out->problem when that cannot be. */
bool sdtarg_x86(struct sdtarg_reading *reading, struct sdtarg_text operand);
bool sdtarg_arm64(struct sdtarg_reading *reading, struct sdtarg_text operand);

/* Say why the argument cannot be read. Always false. */
bool sdtarg_refuse(struct sdtarg_reading *reading, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void sdtarg_skip_blanks(struct sdtarg_text *text);
struct sdtarg_text sdtarg_trim(struct sdtarg_text text);
/* The length of the word (letters, digits, `_`, `.`, `$`, bytes above 127) at the start. */
size_t sdtarg_word(struct sdtarg_text text);

/*
 * An expression: numbers (decimal, 0x…, 0b…, octal as 0…) and at most one symbol, added and
 * subtracted. Takes all of `text`; false, with the reason, when it is something else.
 */
struct sdtarg_sum {
	int64_t value;
	struct sdtarg_text symbol; /* empty: none */
};
bool sdtarg_add_up(struct sdtarg_reading *reading, struct sdtarg_text text, struct sdtarg_sum *sum);

/* Read a register: at most `width` bytes of what is `shift` bits up in the user register. */
bool sdtarg_set_register(struct sdtarg_reading *reading, unsigned offset, unsigned width,
			 unsigned shift);
/* A constant, cut to the argument's size and extended as it says. */
bool sdtarg_set_constant(struct sdtarg_reading *reading, int64_t value);
bool sdtarg_set_memory(struct sdtarg_reading *reading, unsigned base, unsigned index,
		       unsigned shift, int64_t displacement);

#endif
