/*
 * The instruction at a site: one that the kernel takes a probe on, and that begins there. A note
 * that a tool left behind when it moved the code (a rewriter of whole programs) may point inside
 * an instruction, where a probe would destroy the program; so the function that holds the site is
 * decoded where frame information or a symbol tells which it is.
 */
#include "target/sdtcode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "target/body.h"
#include "target/code.h"
#include "target/dynamic.h"
#include "target/fde.h"
#include "target/functions.h"
#include "target/symbols.h"

#define LONGEST 16 /* bytes of an instruction, rounded up */
/* How much is decoded for one file, in bytes of code and what else takes as long as so many. */
#define MOST_CODE (32u << 20)
#define EACH	  1024 /* function */
#define EACH_PAD  64   /* place where exceptions land */

/* The file's symbols, read when they are first asked for. */
struct names {
	bool asked, open;
	struct dynamic dynamic;
	struct symbols symbols;
	struct functions functions;
};

struct judging {
	const struct image *image;
	struct arena *arena;
	struct names names;
	uint64_t start, size; /* of the function that was decoded last; size 0: none */
	struct body body;
	uint64_t decoded;
};

/* `problem` is static or in the arena. */
static void refuse(struct sdt_site *site, enum reason reason, const char *problem)
{
	site->reason = reason;
	site->problem = problem;
}

static void forget(struct judging *judging)
{
	if (judging->size)
		body_free(&judging->body);
	judging->size = 0;
}

static void names_open(struct names *names, const struct image *image)
{
	struct err err;

	names->asked = true;
	if (dynamic_open(&names->dynamic, image, &err))
		return;
	if (symbols_open(&names->symbols, image, &names->dynamic, &err)) {
		dynamic_close(&names->dynamic);
		return;
	}
	names->open = true;
	functions_init(&names->functions, &names->symbols);
	symbols_each(&names->symbols, functions_visit, &names->functions, &err);
	functions_sort(&names->functions);
}

static void names_close(struct names *names)
{
	if (!names->open)
		return;
	functions_fini(&names->functions);
	symbols_close(&names->symbols);
	dynamic_close(&names->dynamic);
}

static bool find_function(struct judging *judging, uint64_t address, uint64_t *start,
			  uint64_t *size)
{
	struct names *names = &judging->names;
	const struct function *function;
	struct fde fde;

	if (fde_find(judging->image, address, &fde) == 0) {
		*start = fde.address;
		*size = fde.size;
		return true;
	}
	if (!names->asked)
		names_open(names, judging->image);
	function = names->open ? functions_covering(&names->functions, address) : NULL;
	if (!function)
		return false;
	*start = function->address;
	*size = function->size;
	return true;
}

/* Decode the function that holds `address`, unless it is the one of the site before. */
static bool decode_around(struct judging *judging, uint64_t address)
{
	uint64_t start, size;

	if (address - judging->start < judging->size)
		return true;
	forget(judging);
	if (judging->decoded > MOST_CODE || !find_function(judging, address, &start, &size) ||
	    !size || size > CODE_MOST_BYTES)
		return false;
	judging->start = start;
	judging->size = size;
	body_decode(&judging->body, judging->image, start, size, NULL, 0);
	/* It is decoded anew for each part that is found. */
	judging->decoded += EACH + (judging->body.code.size + EACH_PAD * judging->body.pads.n) *
					   judging->body.code.n_regions;
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
		refuse(site, REASON_NOT_AN_INSTRUCTION,
		       "the note points inside an instruction: the code was changed after the "
		       "notes were made");
}

/* What <sys/sdt.h> puts at a site. */
static bool is_nop(uint16_t machine, const struct code_region *region)
{
	static const unsigned char arm64[] = {0x1f, 0x20, 0x03, 0xd5};

	if (machine == EM_X86_64)
		return region->bytes[0] == 0x90;
	return region->size >= sizeof(arm64) && memcmp(region->bytes, arm64, sizeof(arm64)) == 0;
}

static void judge_class(struct judging *judging, struct sdt_site *site, const struct code *code)
{
	const char *why = NULL;
	enum code_class class = code_classify(code, site->address, &why);
	char text[CODE_TEXT_ROOM];

	code_text(code, site->address, text);
	if (class == CODE_REFUSED)
		refuse(site, REASON_KERNEL_REFUSED,
		       arena_printf(judging->arena, "the kernel takes no probe there: %s",
				    why ? why : "the bytes are not an instruction"));
	else if (class == CODE_NOP5)
		refuse(site, REASON_UNSAFE_SITE,
		       "a five-byte nop: newer kernels replace it by a call, which overwrites "
		       "what a function may keep below its stack pointer");
	else if (!site->remark && !is_nop(judging->image->ehdr.e_machine, &code->region[0]))
		site->remark =
			arena_printf(judging->arena, "not a nop but \"%s\"%s", text,
				     class == CODE_EMULATED ? "" : ": each hit is single-stepped");
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
		refuse(site, REASON_NOT_AN_INSTRUCTION,
		       arena_printf(judging->arena,
				    "address 0x%" PRIx64 " is not in the file's code",
				    site->address));
		return;
	}
	region.size = room < LONGEST ? room : LONGEST;
	if (image_read(judging->image, site->offset, bytes, region.size)) {
		refuse(site, REASON_BAD_ELF, "the file cannot be read there");
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
	names_close(&judging.names);
}
