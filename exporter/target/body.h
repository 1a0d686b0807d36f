/*
 * A function as it stands in its file, decoded with all of its parts: the bytes of its symbol,
 * the parts that the compiler moved elsewhere (.cold), and the places where exceptions land.
 */
#ifndef TARGET_BODY_H
#define TARGET_BODY_H

#include "target/code.h"
#include "target/fde.h"
#include "target/image.h"

struct body {
	struct code code;
	unsigned char *bytes[CODE_MOST_REGIONS]; /* of the regions; owned */
	struct code_region region[CODE_MOST_REGIONS];
	size_t n_regions;
	fde_pads pads;
	const struct image *image; /* borrowed */
};

/*
 * Read and decode the function at a virtual address. `size` 0: as large as the frame information
 * says. `functions` are the addresses of the file's function symbols but those of split-off
 * parts, ascending: a part never begins at one. body->code is always valid, complete or not.
 */
void body_decode(struct body *body, const struct image *image, uint64_t address, uint64_t size,
		 const uint64_t *functions, size_t n_functions);
void body_free(struct body *body);

#endif
