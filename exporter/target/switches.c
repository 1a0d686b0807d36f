/*
 * Bytes that may load the stack pointer are looked for first, which is fast; the few functions
 * that hold some are then swept from their start, which shows most of them to be parts of other
 * instructions, and the rest is decoded.
 */
#include "target/switches.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "target/body.h"
#include "target/code_stack.h"
#include "target/fde.h"

#define WINDOW	   (1u << 20)
#define MOST_SWEPT (1u << 18) /* bytes of one function */

/* Of the C library and the unwinder: they go back to where setjmp or getcontext was called, or to
 * where an exception lands, and are judged by their names. Sorted. */
static const char *const known[] = {
	"____longjmp_chk",
	"_Unwind_ForcedUnwind",
	"_Unwind_RaiseException",
	"_Unwind_Resume",
	"_Unwind_Resume_or_Rethrow",
	"__longjmp",
	"__longjmp_chk",
	"__setcontext",
	"__swapcontext",
	"_longjmp",
	"longjmp",
	"setcontext",
	"siglongjmp",
	"swapcontext",
};

struct search {
	const struct image *image;
	const struct functions *functions;
	bool has_libc;
	struct strbuf *why;
	unsigned n_looked_into;
	uint64_t begin, end; /* of the function looked into last */
};

struct range {
	uint64_t address, size;
	bool split_off;
};

static bool range_of(const struct search *search, uint64_t address, struct range *range)
{
	const struct function *function;
	struct fde fde;

	if (fde_find(search->image, address, &fde) == 0) {
		*range = (struct range){fde.address, fde.size, fde.begins_inside};
		return true;
	}
	function = search->functions ? functions_covering(search->functions, address) : NULL;
	if (!function || !function->size)
		return false;
	*range = (struct range){function->address, function->size, false};
	return true;
}

static bool is_known(const struct search *search, const struct range *range)
{
	char name[FUNCTIONS_NAME_ROOM];

	if (!search->has_libc || !search->functions)
		return false;
	functions_name(search->functions, range->address, name);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return false;
}

/* ---- one function ---- */

/*
 * Whether one instruction after another, from the start, an instruction begins in what was found
 * at `address`. True also where that cannot be told.
 */
static bool is_boundary(const struct search *search, const struct range *range, uint64_t address)
{
	_cleanup_free_ unsigned char *bytes = NULL;
	uint64_t offset, room;

	if (range->size > MOST_SWEPT ||
	    !image_code_offset(search->image, range->address, &offset, &room) || room < range->size)
		return true;
	bytes = alloc_resize(NULL, range->size, 1);
	if (image_read(search->image, offset, bytes, range->size) != 0)
		return true;
	return code_stack_is_boundary(search->image->ehdr.e_machine, bytes, range->size,
				      address - range->address);
}

static bool put(struct search *search, const struct range *range, const char *text)
{
	char name[FUNCTIONS_NAME_ROOM] = "";

	if (search->functions && functions_at(search->functions, range->address))
		functions_name(search->functions, range->address, name);
	else
		snprintf(name, sizeof(name), "code at 0x%" PRIx64, range->address);
	strbuf_printf(search->why, "its %.100s takes up another stack (%.60s)", name, text);
	return true;
}

/*
 * Decode the function that holds what was found at `address`. Where not all of its code was
 * followed, what is found there again is looked at again; what was not reached counts.
 */
static bool look_into(struct search *search, const struct range *range, uint64_t address)
{
	static const uint64_t none;
	const struct functions *functions = search->functions;
	char text[CODE_TEXT_ROOM];
	struct body body;
	uint64_t at = 0;

	body_decode(&body, search->image, range->address, range->size,
		    functions ? functions->addresses : &none, functions ? functions->all.n : 0);
	bool found = code_stack_is_switched(&body.code, range->split_off, &at);
	bool missed = !body.code.complete && !code_boundary(&body.code, address);
	if (found)
		code_text(&body.code, at, text);
	else
		snprintf(text, sizeof(text), "or seems to: it is not understood");
	if (body.code.complete) {
		search->begin = range->address;
		search->end = range->address + range->size;
	}
	body_free(&body);
	return (found || missed) && put(search, range, text);
}

static bool look_at(struct search *search, uint64_t address)
{
	struct range range;

	if (address >= search->begin && address < search->end)
		return false;
	if (!range_of(search, address, &range)) {
		strbuf_printf(
			search->why,
			"its code at 0x%" PRIx64
			" seems to take up another stack, and nothing shows what function that is",
			address);
		return true;
	}
	if (is_known(search, &range) || !is_boundary(search, &range, address))
		return false;
	if (++search->n_looked_into > SWITCHES_MOST)
		return put(search, &range, "or seems to: too many functions do");
	return look_into(search, &range, address);
}

/* ---- the file ---- */

static bool search_segment(struct search *search, const Elf64_Phdr *segment, unsigned char *window)
{
	uint16_t machine = search->image->ehdr.e_machine;

	for (uint64_t at = 0; at < segment->p_filesz; at += WINDOW) {
		uint64_t left = segment->p_filesz - at;
		size_t n = left < WINDOW + CODE_STACK_MOST_LENGTH ? left
								  : WINDOW + CODE_STACK_MOST_LENGTH;
		if (image_read(search->image, segment->p_offset + at, window, n) != 0)
			return false;
		for (size_t i = code_stack_find(machine, window, 0, n); i < n;
		     i = code_stack_find(machine, window, i + 1, n))
			if (look_at(search, segment->p_vaddr + at + i))
				return true;
	}
	return false;
}

bool switches_find(const struct image *image, const struct functions *functions, bool has_libc,
		   struct strbuf *why)
{
	struct search search = {
		.image = image, .functions = functions, .has_libc = has_libc, .why = why};
	_cleanup_free_ unsigned char *window =
		alloc_resize(NULL, WINDOW + CODE_STACK_MOST_LENGTH, 1);
	bool found = false;

	for (size_t i = 0; i < image->n_phdr && !found; i++)
		if (image->phdr[i].p_type == PT_LOAD && image->phdr[i].p_flags & PF_X)
			found = search_segment(&search, &image->phdr[i], window);
	return found;
}
