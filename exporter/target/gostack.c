/* Recognising Go's stack check by its bytes. */
#include "target/gostack.h"

#include <string.h>

enum {
	MOST_BEFORE = 8, /* instructions up to the check: a large frame is computed first */
	SEARCHED = 512,	 /* bytes from the call of morestack to the jump back */
	GUARD0 = 0x10,	 /* offsets in runtime.g */
	GUARD1 = 0x18,
};

/* cmp GUARD(%reg), %sp-or-computed */
static bool is_compare(const unsigned char *at, uint64_t length)
{
	return length == 4 && (at[0] & 0xf8) == 0x48 && at[1] == 0x3b && (at[2] & 0xc0) == 0x40 &&
	       (at[2] & 7) != 4 && (at[3] == GUARD0 || at[3] == GUARD1);
}

/* jbe, short or near: where it leads, as an offset in the function; 0 when it is something else. */
static uint64_t jump_target(const unsigned char *at, uint64_t length, uint64_t offset)
{
	int32_t far;

	if (length == 2 && at[0] == 0x76)
		return offset + 2 + (uint64_t)(int64_t)(int8_t)at[1];
	if (length != 6 || at[0] != 0x0f || at[1] != 0x86)
		return 0;
	memcpy(&far, at + 2, sizeof(far));
	return offset + 6 + (uint64_t)(int64_t)far;
}

/* Whether a jump to the function's start follows soon after `from`. */
static bool begins_again(const struct code_region *function, uint64_t from)
{
	uint64_t end = from + SEARCHED < function->size ? from + SEARCHED : function->size;
	int32_t far;

	for (uint64_t i = from; i + 2 <= end; i++) {
		const unsigned char *at = function->bytes + i;
		if (at[0] == 0xeb && i + 2 + (uint64_t)(int64_t)(int8_t)at[1] == 0)
			return true;
		if (at[0] != 0xe9 || i + 5 > end)
			continue;
		memcpy(&far, at + 1, sizeof(far));
		if (i + 5 + (uint64_t)(int64_t)far == 0)
			return true;
	}
	return false;
}

bool gostack_check(const struct code *code, uint64_t *jump)
{
	const struct code_region *function = &code->region[0];
	const struct code_step *step, *last = NULL;
	uint64_t at = 0, target;

	if (!code->n_regions)
		return false;
	for (int i = 0; i < MOST_BEFORE; i++, at += step->length, last = step) {
		step = code_step_at(code, function->address + at);
		if (!step)
			return false;
		target = jump_target(function->bytes + at, step->length, at);
		if (!last || !target || target >= function->size ||
		    !is_compare(function->bytes + at - last->length, last->length))
			continue;
		*jump = step->address;
		return begins_again(function, target);
	}
	return false;
}
