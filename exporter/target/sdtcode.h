/* Whether a probe may stand on the instruction of a USDT site. */
#ifndef TARGET_SDTCODE_H
#define TARGET_SDTCODE_H

#include "target/image.h"
#include "target/sdt.h"

/*
 * Judge each of `sites`: fills offset, and reason and problem or remark. Their texts live in the
 * arena. Sites that have a reason already keep it.
 */
void sdtcode_judge(const struct image *image, struct sdt_site *sites, size_t n,
		   struct arena *arena);

#endif
