/* Version definitions: a chain of Verdef records, each with its name in the dynamic strings. */
#include "target/versions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { HIDDEN = 0x8000 }; /* in a versym: not the default version */

static void take_name(struct versions *versions, struct dynamic *dynamic, uint16_t index,
		      uint64_t at)
{
	size_t length;
	const char *name = strings_get(&dynamic->strings, at, &length);

	if (!name || length == 0 || length > VERSIONS_LONGEST || index <= VER_NDX_GLOBAL ||
	    index >= VERSIONS_MOST || versions->name[index])
		return;
	versions->name[index] = alloc_strdup(name);
}

void versions_open(struct versions *versions, const struct image *image, struct dynamic *dynamic)
{
	uint64_t at = dynamic->verdef_offset;

	memset(versions, 0, sizeof(*versions));
	versions->image = image;
	if (!dynamic->versym_offset)
		return;
	versions->versym_offset = dynamic->versym_offset;
	versions->n = VERSIONS_MOST;
	versions->name = alloc_zero(VERSIONS_MOST, sizeof(*versions->name));
	if (!at)
		return;
	for (uint64_t i = 0; i < dynamic->n_verdef && i < VERSIONS_MOST; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		if (image_read(image, at, &def, sizeof(def)) ||
		    image_read(image, at + def.vd_aux, &aux, sizeof(aux)))
			return;
		if (!(def.vd_flags & VER_FLG_BASE))
			take_name(versions, dynamic, def.vd_ndx & ~HIDDEN, aux.vda_name);
		if (def.vd_next < sizeof(def))
			return;
		at += def.vd_next;
	}
}

void versions_close(struct versions *versions)
{
	for (size_t i = 0; i < versions->n; i++)
		free(versions->name[i]);
	free(versions->name);
	memset(versions, 0, sizeof(*versions));
}

const char *versions_name(const struct versions *versions, uint16_t versym, bool *is_default)
{
	uint16_t index = versym & (uint16_t)~HIDDEN;

	*is_default = !(versym & HIDDEN);
	return index < versions->n ? versions->name[index] : NULL;
}
