/*
 * The USDT sites of a file: places in its code that carry a name (provider:name), a semaphore
 * that says whether somebody listens, and arguments. They stand in the section .note.stapsdt,
 * which is not loaded and which stripping keeps.
 *
 * Format: SystemTap's "UserSpaceProbeImplementation" and <sys/sdt.h>, version 3: a note of owner
 * "stapsdt" and type 3, whose descriptor is three addresses (the site, the section .stapsdt.base
 * as it was linked, the semaphore) and three texts (provider, name, arguments). A file moved
 * after linking (prelink) has .stapsdt.base elsewhere than its notes say: all of its addresses
 * have moved by as much.
 */
#ifndef TARGET_SDT_H
#define TARGET_SDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "target/sdtarg.h"

#define SDT_MOST       65536	   /* notes in one file; more are refused */
#define SDT_MOST_BYTES (16u << 20) /* of their sections */

/* One site: the same name may have several. Texts are the file's, whatever bytes those are. */
struct sdt_site {
	const char *provider, *name, *args;
	uint64_t address;   /* virtual */
	uint64_t offset;    /* in the file: where the probe goes; 0 when it is not in its code */
	uint64_t semaphore; /* file offset of its 16-bit counter; 0: it has none */
	/* Why no probe can be put there; REASON_NONE and NULL when one can. */
	enum reason reason;
	const char *problem;
	const char *remark; /* what is unusual about it; NULL */
};

/* All of it lives in the arena that was given to sdt_read. */
struct sdt {
	struct sdt_site *sites; /* by provider, name and address; no two are equal in all three */
	size_t n;
	bool has_notes;	    /* the file has the section, though perhaps no site in it */
	const char *damage; /* what could not be read of the notes; NULL: all was */
	/* What sdt_args needs of the file. */
	uint16_t machine;
	bool fixed;
	struct sdt_symbols *symbols;
};

/*
 * Read the notes of the ELF file `fd`, which is not needed afterwards. 0, also when there are
 * none; or -errno with `err`, whose text goes after "PATH: ": what image_open refuses, and
 * REASON_LIMIT for more notes than SDT_MOST.
 */
int sdt_read(struct sdt *sdt, int fd, struct arena *arena, struct err *err);

/* Whether a site is called "provider:name". */
bool sdt_is(const struct sdt_site *site, const char *probe);
/* The sites of "provider:name": the first, and how many follow one another; NULL, 0: none. */
const struct sdt_site *sdt_find(const struct sdt *sdt, const char *probe, size_t *n);

/* The arguments of one of its sites, as sdtarg_parse. */
size_t sdt_args(const struct sdt *sdt, const struct sdt_site *site, struct sdtarg *out,
		size_t room);

#endif
