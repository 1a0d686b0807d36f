/* Places in code: the start that is nearest is decoded from, so that boundaries are known. */
#include "target/place.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "target/body.h"
#include "target/code.h"
#include "target/entry.h"
#include "target/fde.h"
#include "target/functions.h"
#include "target/image.h"

#define LONGEST	   16 /* bytes of an instruction, rounded up */
#define NAME_BYTES FUNCTIONS_NAME_ROOM

/* What is known about a place. */
struct place {
	const struct functions *functions;
	const struct image *image;
	const struct spec_function *function;
	struct inspect_wanted *wanted;
	struct arena *arena;
	uint64_t address, offset, room; /* room: bytes to the end of the segment's file part */
	uint64_t start, size;		/* of what covers it; size 0: nothing is known to */
	bool starts_function;		/* start does */
	char name[NAME_BYTES];		/* of what begins at `start` */
};

__attribute__((format(printf, 3, 4))) static void refuse(const struct place *place,
							 enum reason reason, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	place->wanted->reason = reason;
	place->wanted->detail = arena_strdup(place->arena, text);
}

/* ---- where it is ---- */

static bool find_offset(struct place *place)
{
	for (size_t i = 0; i < place->image->n_phdr; i++) {
		const Elf64_Phdr *segment = &place->image->phdr[i];
		uint64_t delta = place->function->position - segment->p_offset;
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    place->function->position >= segment->p_offset && delta < segment->p_filesz) {
			place->address = segment->p_vaddr + delta;
			return image_code_offset(place->image, place->address, &place->offset,
						 &place->room) &&
			       place->offset == place->function->position;
		}
	}
	return false;
}

static bool find_address(struct place *place)
{
	place->address = place->function->position;
	return image_code_offset(place->image, place->address, &place->offset, &place->room);
}

static void refuse_outside(const struct place *place)
{
	bool by_offset = place->function->by == BY_OFFSET;
	uint64_t position = place->function->position, offset;
	const char *hint = "";

	if (by_offset && position >= place->image->size)
		hint = ": the file is shorter";
	else if (!by_offset && image_offset(place->image, position, &offset, NULL))
		hint = ": it is data";
	else if (by_offset && image_code_offset(place->image, position, &offset, NULL))
		hint = "; as an `address` it would be";
	refuse(place, REASON_NOT_AN_INSTRUCTION, "%s 0x%" PRIx64 " is not in the file's code%s",
	       by_offset ? "offset" : "address", position, hint);
}

/* ---- what covers it ---- */

static bool covered_by_symbol(struct place *place)
{
	const struct function *function = functions_covering(place->functions, place->address);

	if (!function)
		return false;
	place->start = function->address;
	place->size = function->size;
	place->starts_function = true;
	return true;
}

static void find_cover(struct place *place)
{
	struct fde fde;
	bool has_frame = fde_find(place->image, place->address, &fde) == 0;

	if (!covered_by_symbol(place) && has_frame) {
		place->start = fde.address;
		place->size = fde.size;
		place->starts_function = !fde.begins_inside;
	} else if (place->starts_function && !place->size && has_frame &&
		   fde.address == place->start) {
		place->size = fde.size;
	}
	functions_name(place->functions, place->start, place->name);
}

/* ---- decisions ---- */

static const char *where_text(const struct place *place, uint64_t address)
{
	return arena_printf(place->arena, "%s+0x%" PRIx64, place->name, address - place->start);
}

static void settle(const struct place *place, const char *symbol, uint64_t size, bool inside)
{
	place->wanted->reason = REASON_NONE;
	place->wanted->detail = NULL;
	place->wanted->symbol = symbol;
	place->wanted->offset = place->offset;
	place->wanted->address = place->address;
	place->wanted->size = size;
	place->wanted->inside = inside;
}

/* The probe goes exactly there, and only counts. */
static void settle_site(const struct place *place, const struct code *code, const char *symbol,
			const char *why)
{
	char text[CODE_TEXT_ROOM];

	settle(place, symbol, 0, true);
	code_text(code, place->address, text);
	place->wanted->judged.entry_offset = place->offset;
	place->wanted->judged.strategy = STRATEGY_NONE;
	place->wanted->judged.detail = "how often control comes by is counted";
	place->wanted->judged.entry = (struct plan_entry){
		.at_site = arena_strdup(place->arena, text),
		.class = code_class_name(code_classify(code, place->address, NULL)),
		.why = why,
	};
}

static void refuse_timing(const struct place *place)
{
	refuse(place, REASON_UNSAFE_RETURN,
	       "the place is inside a function, at %s: how often control comes by can be counted "
	       "(exit: none), not timed; to time calls give the start, %s 0x%" PRIx64,
	       where_text(place, place->address),
	       place->function->by == BY_OFFSET ? "offset" : "address",
	       place->function->position - (place->address - place->start));
}

/* A place inside a function that can be probed: passes can be counted, calls cannot be timed. */
static void settle_inside(const struct place *place, const struct code *code)
{
	if (place->function->exit == EXIT_NONE) {
		settle_site(place, code, where_text(place, place->address),
			    "the place that the config gives");
		return;
	}
	refuse_timing(place);
}

/* The reason for what entry_check has refused. */
static enum reason reason_of(const struct entry_site *site, const struct code *code,
			     uint64_t address)
{
	if (code_boundary(code, address) != address)
		return REASON_NOT_AN_INSTRUCTION;
	return site->at_site == CODE_NOP5 ? REASON_UNSAFE_SITE : REASON_KERNEL_REFUSED;
}

static void say_boundary(const struct place *place, const struct code *code, uint64_t boundary)
{
	uint64_t back = place->address - boundary;
	char text[CODE_TEXT_ROOM];

	code_text(code, boundary, text);
	refuse(place, REASON_NOT_AN_INSTRUCTION,
	       "%s is inside the instruction \"%.60s\", which begins %" PRIu64
	       " byte%s before: at offset 0x%" PRIx64 ", address 0x%" PRIx64 ", %s",
	       where_text(place, place->address), text, back, back == 1 ? "" : "s",
	       place->offset - back, boundary, where_text(place, boundary));
}

static void settle_unchecked(const struct place *place, const struct code *code,
			     const char *because)
{
	const char *symbol = arena_printf(place->arena, "0x%" PRIx64, place->address);

	if (place->function->exit == EXIT_NONE)
		settle_site(place, code, symbol, "the place that the config gives");
	else
		settle(place, symbol, 0, false);
	place->wanted->warning = arena_printf(
		place->arena,
		"whether an instruction begins there is not checked, as %s; if none does, the "
		"probe breaks the program",
		because);
}

/* Without a start to decode from: only what the bytes themselves tell. */
static void settle_unknown(const struct place *place, const char *because)
{
	unsigned char bytes[LONGEST];
	struct code_region region = {.address = place->address,
				     .size = place->room < LONGEST ? place->room : LONGEST,
				     .bytes = bytes};
	struct code_request request = {
		.machine = place->image->ehdr.e_machine, .regions = &region, .n_regions = 1};
	struct code code;
	const char *why = NULL;

	if (image_read(place->image, place->offset, bytes, region.size)) {
		refuse(place, REASON_BAD_ELF, "the file cannot be read there");
		return;
	}
	code_decode(&code, &request);
	enum code_class class = code_classify(&code, place->address, &why);
	if (class == CODE_REFUSED)
		refuse(place, REASON_KERNEL_REFUSED, "the kernel takes no probe there: %s",
		       why ? why : "the bytes are not an instruction");
	else if (class == CODE_NOP5)
		refuse(place, REASON_UNSAFE_SITE,
		       "a five-byte nop, and nothing shows that a function begins there: newer "
		       "kernels replace it by a call, which overwrites what a function may keep "
		       "below its stack pointer");
	else if (place->size && place->function->exit != EXIT_NONE)
		refuse_timing(place);
	else if (place->function->exit != EXIT_NONE && place->function->exit != EXIT_URETPROBE)
		refuse(place, REASON_UNSAFE_RETURN,
		       "nothing shows that a function begins there (%s): count only (exit: none), "
		       "or take the risk by name (exit: uretprobe)",
		       because);
	else
		settle_unchecked(place, &code, because);
	code_free(&code);
}

static void settle_in_body(struct place *place)
{
	const struct functions *functions = place->functions;
	struct body body;
	struct entry_site site;

	body_decode(&body, place->image, place->start, place->size, functions->addresses,
		    functions->all.n);
	uint64_t boundary = code_boundary(&body.code, place->address);
	if (boundary && boundary != place->address)
		say_boundary(place, &body.code, boundary);
	else if (!boundary && body.code.complete)
		refuse(place, REASON_NOT_AN_INSTRUCTION,
		       "no instruction that control reaches begins at %s: padding, or data",
		       where_text(place, place->address));
	else if (!boundary)
		settle_unknown(place, arena_printf(place->arena, "not all of %s is understood: %s",
						   place->name, body.code.why));
	else if (entry_check(&body.code, place->address, &site))
		refuse(place, reason_of(&site, &body.code, place->address), "%s: %s",
		       where_text(place, place->address), site.why);
	else
		settle_inside(place, &body.code);
	body_free(&body);
}

void place_settle(const struct functions *functions, const struct spec_function *function,
		  struct inspect_wanted *wanted, struct arena *arena)
{
	struct place place = {
		.functions = functions,
		.image = functions->symbols->image,
		.function = function,
		.wanted = wanted,
		.arena = arena,
	};

	wanted->settled = true;
	if (!(function->by == BY_OFFSET ? find_offset(&place) : find_address(&place))) {
		refuse_outside(&place);
		return;
	}
	find_cover(&place);
	if (place.starts_function && place.start == place.address)
		settle(&place, arena_strdup(arena, place.name), place.size, false);
	else if (place.size)
		settle_in_body(&place);
	else
		settle_unknown(&place, "neither a symbol nor frame information covers it");
}
