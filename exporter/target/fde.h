/*
 * A file's call frame information as far as it tells where functions begin and end and where
 * exceptions land in them. Stripped files keep it, so it also finds functions without symbols and
 * the parts that compilers split off.
 *
 * Formats: Linux Standard Base Core, "Exception Frames" (.eh_frame, .eh_frame_hdr); Itanium C++
 * ABI, "Exception Handling Tables" (.gcc_except_table).
 */
#ifndef TARGET_FDE_H
#define TARGET_FDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "target/code.h"
#include "target/image.h"

struct fde {
	uint64_t address, size; /* virtual */
	uint64_t lsda;		/* address of its exception table; 0: none */
	/* It does not begin as a call leaves the stack: a split-off part, or the PLT. */
	bool begins_inside;
};

typedef VEC(struct code_entry) fde_pads; /* vec_fini */

/*
 * The entry that covers `address`. 0, or -ENOENT when there is none, -EBADMSG when the tables
 * are damaged, -EOPNOTSUPP when they are in a form that linkers do not make.
 */
int fde_find(const struct image *image, uint64_t address, struct fde *fde);

/* Append the addresses where exceptions land. Errors as fde_find; 0 also when there are none. */
int fde_landing_pads(const struct image *image, const struct fde *fde, fde_pads *pads);

#endif
