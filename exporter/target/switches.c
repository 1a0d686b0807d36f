/*
 * Bytes that may load the stack pointer are looked for first, which is fast; the few functions
 * that hold some are then swept from their start, which shows most of them to be parts of other
 * instructions, and the rest is decoded.
 */
#include "target/switches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "target/body.h"
#include "target/code_stack.h"
#include "target/fde.h"

#define WINDOW	   (1u << 20)
#define MOST_SWEPT (1u << 18) /* bytes of one function */
#define DECODING   16	      /* how much more it costs than a sweep */
#define FINDING	   4096	      /* what it costs to find out which function holds a place */

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
	unsigned char *window;
	uint64_t scanned;
	uint64_t work;	     /* bytes looked at so far, as SWITCHES_MOST_WORK counts them */
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
	if (search->work > SWITCHES_MOST_WORK) {
		strbuf_puts(search->why, "more of its code than is looked into seems to take up "
					 "another stack");
		return true;
	}
	if (!range_of(search, address, &range)) {
		strbuf_printf(
			search->why,
			"its code at 0x%" PRIx64
			" seems to take up another stack, and nothing shows what function that is",
			address);
		return true;
	}
	search->work += FINDING + (address - range.address);
	if (is_known(search, &range) || !is_boundary(search, &range, address))
		return false;
	search->work += DECODING * range.size;
	return look_into(search, &range, address);
}

/* ---- the file ---- */

static bool put_odd(struct search *search)
{
	strbuf_puts(search->why, "its code is in ranges that overlap");
	return true;
}

/* `size` bytes at a file offset, that stand at a virtual address. */
static bool search_range(struct search *search, uint64_t offset, uint64_t address, uint64_t size)
{
	uint16_t machine = search->image->ehdr.e_machine;

	if (size > SWITCHES_MOST_CODE - search->scanned) {
		strbuf_puts(search->why, "it has more code than is searched for stack switches");
		return true;
	}
	for (uint64_t at = 0; at < size; at += WINDOW) {
		if (search->scanned > search->image->size) /* ranges that overlap */
			return put_odd(search);
		uint64_t left = size - at;
		size_t n = left < WINDOW + CODE_STACK_MOST_LENGTH ? left
								  : WINDOW + CODE_STACK_MOST_LENGTH;
		if (image_read(search->image, offset + at, search->window, n) != 0)
			return false;
		search->scanned += left < WINDOW ? left : WINDOW;
		for (size_t i = code_stack_find(machine, search->window, 0, n); i < n;
		     i = code_stack_find(machine, search->window, i + 1, n))
			if (look_at(search, address + at + i))
				return true;
	}
	return false;
}

/* Linkers may put data into the same segment as code: sections tell them apart. */
static bool search_sections(struct search *search, bool *any)
{
	const struct image *image = search->image;

	for (size_t i = 0; i < image->n_shdr; i++) {
		const Elf64_Shdr *section = &image->shdr[i];
		if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR))
			continue;
		*any = true;
		if (search_range(search, section->sh_offset, section->sh_addr, section->sh_size))
			return true;
	}
	return false;
}

static bool search_segments(struct search *search)
{
	const struct image *image = search->image;

	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *segment = &image->phdr[i];
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    search_range(search, segment->p_offset, segment->p_vaddr, segment->p_filesz))
			return true;
	}
	return false;
}

bool switches_find(const struct image *image, const struct functions *functions, bool has_libc,
		   struct strbuf *why)
{
	struct search search = {
		.image = image, .functions = functions, .has_libc = has_libc, .why = why};
	bool any = false;

	search.window = alloc_resize(NULL, WINDOW + CODE_STACK_MOST_LENGTH, 1);
	bool found = search_sections(&search, &any) || (!any && search_segments(&search));
	free(search.window);
	return found;
}
