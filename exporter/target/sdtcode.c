/*
 * The instruction at a site: one that the kernel takes a probe on, and that begins there. A note
 * that a tool left behind when it moved the code (a rewriter of whole programs) may point inside
 * an instruction, where a probe would destroy the program; so the function that holds the site is
 * decoded where frame information tells which it is.
 */
#include "target/sdtcode.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "target/body.h"
#include "target/code.h"
#include "target/fde.h"

#define LONGEST	  16	      /* bytes of an instruction, rounded up */
#define MOST_CODE (32u << 20) /* bytes that are decoded for one file */

struct judging {
	const struct image *image;
	struct arena *arena;
	struct fde fde; /* of the function that was decoded last; size 0: none */
	struct body body;
	uint64_t decoded;
};

static void refuse(const struct judging *judging, struct sdt_site *site, enum reason reason,
		   const char *problem)
{
	site->reason = reason;
	site->problem = problem ? arena_strdup(judging->arena, problem) : "";
}

static void forget(struct judging *judging)
{
	if (judging->fde.size)
		body_free(&judging->body);
	judging->fde.size = 0;
}

/* Decode the function that holds `address`, unless it is the one of the site before. */
static bool decode_around(struct judging *judging, uint64_t address)
{
	struct fde fde;

	if (judging->fde.size && address - judging->fde.address < judging->fde.size)
		return true;
	forget(judging);
	if (fde_find(judging->image, address, &fde) || !fde.size || fde.size > CODE_MOST_BYTES ||
	    judging->decoded > MOST_CODE)
		return false;
	judging->fde = fde;
	body_decode(&judging->body, judging->image, fde.address, fde.size, NULL, 0);
	/* It is decoded anew for each part that is found. */
	judging->decoded += judging->body.code.size * judging->body.code.n_regions;
	return true;
}

/* Where the function's decoding tells, a probe goes on the start of an instruction only. */
static void judge_boundary(struct judging *judging, struct sdt_site *site)
{
	uint64_t boundary;

	if (!decode_around(judging, site->address))
		return;
	boundary = code_boundary(&judging->body.code, site->address);
	if (boundary && boundary != site->address)
		refuse(judging, site, REASON_NOT_AN_INSTRUCTION,
		       "the note points inside an instruction: the code was changed after the "
		       "notes were made");
}

static void judge_class(struct judging *judging, struct sdt_site *site, const struct code *code)
{
	const char *why = NULL;
	enum code_class class = code_classify(code, site->address, &why);
	char text[CODE_TEXT_ROOM];

	code_text(code, site->address, text);
	if (class == CODE_REFUSED)
		refuse(judging, site, REASON_KERNEL_REFUSED,
		       arena_printf(judging->arena, "the kernel takes no probe there: %s",
				    why ? why : "the bytes are not an instruction"));
	else if (class == CODE_NOP5)
		refuse(judging, site, REASON_UNSAFE_SITE,
		       "a five-byte nop: newer kernels replace it by a call, which overwrites "
		       "what a function may keep below its stack pointer");
	else if (site->remark)
		return;
	else if (class != CODE_EMULATED)
		site->remark = arena_printf(
			judging->arena, "not a nop but \"%s\": each hit is single-stepped", text);
	else if (code->region[0].bytes[0] != 0x90 && judging->image->ehdr.e_machine == EM_X86_64)
		site->remark = arena_printf(judging->arena, "not a nop but \"%s\"", text);
}

static void judge(struct judging *judging, struct sdt_site *site)
{
	unsigned char bytes[LONGEST];
	uint64_t room;
	struct code_region region = {.address = site->address, .bytes = bytes};
	struct code_request request = {
		.machine = judging->image->ehdr.e_machine, .regions = &region, .n_regions = 1};
	struct code code;

	if (!image_code_offset(judging->image, site->address, &site->offset, &room)) {
		refuse(judging, site, REASON_NOT_AN_INSTRUCTION,
		       arena_printf(judging->arena,
				    "address 0x%" PRIx64 " is not in the file's code",
				    site->address));
		return;
	}
	region.size = room < LONGEST ? room : LONGEST;
	if (image_read(judging->image, site->offset, bytes, region.size)) {
		refuse(judging, site, REASON_BAD_ELF, "the file cannot be read there");
		return;
	}
	code_decode(&code, &request);
	judge_class(judging, site, &code);
	code_free(&code);
	if (!site->reason)
		judge_boundary(judging, site);
}

static int by_address(const void *left, const void *right)
{
	const struct sdt_site *a = *(struct sdt_site *const *)left;
	const struct sdt_site *b = *(struct sdt_site *const *)right;

	return (a->address > b->address) - (a->address < b->address);
}

void sdtcode_judge(const struct image *image, struct sdt_site *sites, size_t n, struct arena *arena)
{
	struct judging judging = {.image = image, .arena = arena};
	_cleanup_free_ struct sdt_site **order = alloc_zero(n, sizeof(struct sdt_site *));

	for (size_t i = 0; i < n; i++)
		order[i] = &sites[i];
	if (n)
		qsort(order, n, sizeof(*order), by_address);
	for (size_t i = 0; i < n; i++)
		if (!order[i]->reason)
			judge(&judging, order[i]);
	forget(&judging);
}
