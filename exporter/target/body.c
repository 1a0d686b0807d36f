/* Reading a function and its parts, decoding, and looking for further parts until none is left. */
#include "target/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PADS 4096

static int read_code(void *context, uint64_t address, void *bytes, size_t length)
{
	const struct image *image = context;
	uint64_t offset, room;

	if (!image_offset(image, address, &offset, &room) || room < length)
		return -ENODATA;
	return image_read(image, offset, bytes, length);
}

static bool add_region(struct body *body, uint64_t address, uint64_t size)
{
	uint64_t offset, room;
	unsigned char *bytes;

	if (body->n_regions == CODE_MOST_REGIONS || size == 0 || size > CODE_MOST_BYTES ||
	    !image_code_offset(body->image, address, &offset, &room) || room < size)
		return false;
	bytes = alloc_resize(NULL, size, 1);
	if (image_read(body->image, offset, bytes, size) != 0) {
		free(bytes);
		return false;
	}
	body->bytes[body->n_regions] = bytes;
	body->region[body->n_regions++] =
		(struct code_region){.address = address, .size = size, .bytes = bytes};
	return true;
}

static void add_pads(struct body *body, uint64_t address)
{
	struct fde fde;

	if (fde_find(body->image, address, &fde) == 0 && fde.lsda)
		fde_landing_pads(body->image, &fde, &body->pads);
	if (body->pads.n > MOST_PADS)
		body->pads.n = MOST_PADS;
}

static bool known(const struct body *body, uint64_t address)
{
	for (size_t i = 0; i < body->n_regions; i++) {
		if (address - body->region[i].address < body->region[i].size)
			return true;
	}
	return false;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Add the part that holds `stray`; whether there was one to add. */
static bool add_part(struct body *body, uint64_t stray, const uint64_t *functions,
		     size_t n_functions)
{
	struct fde fde;

	if (known(body, stray) || fde_find(body->image, stray, &fde) != 0 ||
	    known(body, fde.address) ||
	    (n_functions &&
	     bsearch(&fde.address, functions, n_functions, sizeof(*functions), by_value)))
		return false;
	if (!add_region(body, fde.address, fde.size))
		return false;
	add_pads(body, fde.address);
	return true;
}

static void decode(struct body *body)
{
	const struct code_request request = {
		.machine = body->image->ehdr.e_machine,
		.regions = body->region,
		.n_regions = body->n_regions,
		.entries = body->pads.at,
		.n_entries = body->pads.n,
		.read = read_code,
		.context = (void *)(uintptr_t)body->image,
	};

	code_decode(&body->code, &request);
}

void body_decode(struct body *body, const struct image *image, uint64_t address, uint64_t size,
		 const uint64_t *functions, size_t n_functions)
{
	struct fde fde;

	*body = (struct body){.image = image};
	if (!size && fde_find(image, address, &fde) == 0 && fde.address == address)
		size = fde.size;
	if (add_region(body, address, size))
		add_pads(body, address);
	decode(body);
	for (bool more = true; more && body->code.strays.n;) {
		more = false;
		for (size_t i = 0; i < body->code.strays.n; i++)
			more |= add_part(body, body->code.strays.at[i], functions, n_functions);
		if (more) {
			code_free(&body->code);
			decode(body);
		}
	}
}

void body_free(struct body *body)
{
	code_free(&body->code);
	for (size_t i = 0; i < body->n_regions; i++)
		free(body->bytes[i]);
	vec_fini(&body->pads);
	*body = (struct body){0};
}
