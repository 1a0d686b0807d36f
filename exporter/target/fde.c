/* Reading .eh_frame_hdr, one entry of .eh_frame, and one exception table. */
#include "target/fde.h"

#include <errno.h>
#include <string.h>

/* Pointer encodings (DW_EH_PE_*): a format in the low four bits, what it is relative to above. */
enum {
	ABSOLUTE = 0x00,
	ULEB = 0x01,
	U4 = 0x03,
	U8 = 0x04,
	S4 = 0x0b,
	S8 = 0x0c,
	FORMAT = 0x0f,
	PC_RELATIVE = 0x10,
	DATA_RELATIVE = 0x30,
	RELATION = 0x70,
	OMITTED = 0xff,
};

#define ENTRY_ROOM 4096	 /* of a CIE or FDE that is looked at: the header, not the program */
#define LSDA_ROOM  65536 /* of an exception table */
#define HEADER	   12 /* bytes of .eh_frame_hdr before its table, in the form that linkers make */

/* A place in bytes that stand at a virtual address; reading past the end only sets `bad`. */
struct cursor {
	const unsigned char *at, *end;
	uint64_t address;
	bool bad;
};

static uint64_t get_fixed(struct cursor *cursor, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->bad = true;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	cursor->address += size;
	return value;
}

static uint64_t get_uleb(struct cursor *cursor)
{
	uint64_t value = 0;
	unsigned char byte;
	unsigned shift = 0;

	do {
		byte = (unsigned char)get_fixed(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !cursor->bad);
	return value;
}

/* A pointer; forms that do not occur in these tables count as damage. */
static uint64_t get_pointer(struct cursor *cursor, unsigned encoding)
{
	uint64_t place = cursor->address, value = 0;

	switch (encoding & FORMAT) {
	case ABSOLUTE:
	case U8:
	case S8:
		value = get_fixed(cursor, 8);
		break;
	case U4:
		value = get_fixed(cursor, 4);
		break;
	case S4:
		value = (uint64_t)(int64_t)(int32_t)get_fixed(cursor, 4);
		break;
	case ULEB:
		value = get_uleb(cursor);
		break;
	default:
		cursor->bad = true;
	}
	if ((encoding & RELATION) == PC_RELATIVE)
		return value ? place + value : 0; /* 0 stays: no pointer */
	if ((encoding & RELATION) != ABSOLUTE)
		cursor->bad = true;
	return value;
}

/* Read what the file has at a virtual address, at most `room` bytes. */
static int cursor_open(struct cursor *cursor, const struct image *image, uint64_t address,
		       unsigned char *bytes, size_t room)
{
	uint64_t offset, there;

	if (!image_offset(image, address, &offset, &there))
		return -EBADMSG;
	if (there < room)
		room = (size_t)there;
	if (image_read(image, offset, bytes, room) != 0)
		return -EBADMSG;
	*cursor = (struct cursor){.at = bytes, .end = bytes + room, .address = address};
	return 0;
}

/* What a CIE says of its FDEs. */
struct cie {
	unsigned pointer, lsda; /* encodings */
	bool augmented;
};

static int read_cie(const struct image *image, uint64_t address, struct cie *cie)
{
	unsigned char bytes[ENTRY_ROOM];
	struct cursor cursor;
	char augmentation[9] = "";
	unsigned version;

	*cie = (struct cie){.pointer = ABSOLUTE, .lsda = OMITTED};
	if (cursor_open(&cursor, image, address, bytes, sizeof(bytes)) != 0)
		return -EBADMSG;
	get_fixed(&cursor, 4);
	if (get_fixed(&cursor, 4) != 0)
		return -EBADMSG;
	version = (unsigned)get_fixed(&cursor, 1);
	for (unsigned i = 0; i < sizeof(augmentation); i++) {
		augmentation[i] = (char)get_fixed(&cursor, 1);
		if (!augmentation[i])
			break;
	}
	if (augmentation[sizeof(augmentation) - 1] || (version != 1 && version != 3))
		return -EOPNOTSUPP;
	get_uleb(&cursor);
	get_uleb(&cursor);
	if (version == 1)
		get_fixed(&cursor, 1);
	else
		get_uleb(&cursor);
	cie->augmented = augmentation[0] == 'z';
	if (!cie->augmented)
		return augmentation[0] ? -EOPNOTSUPP : 0;
	get_uleb(&cursor);
	for (const char *letter = augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			cie->pointer = (unsigned)get_fixed(&cursor, 1);
		else if (*letter == 'L')
			cie->lsda = (unsigned)get_fixed(&cursor, 1);
		else if (*letter == 'P')
			/* Where it points does not matter, nor that it may be indirect. */
			get_pointer(&cursor, (unsigned)get_fixed(&cursor, 1) & ~0x80u);
		else if (*letter != 'S' && *letter != 'B')
			return -EOPNOTSUPP;
	}
	return cursor.bad ? -EBADMSG : 0;
}

/*
 * Whether an FDE's program defines another frame than its CIE does before it advances past the
 * first instruction. DWARF 5 section 6.4.2 and 7.24: the operations that define the CFA.
 */
static bool redefines_frame(struct cursor *cursor)
{
	enum { NOP, DEF_CFA = 0x0c, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_EXPRESSION };

	while (cursor->at < cursor->end) {
		unsigned operation = (unsigned)get_fixed(cursor, 1);
		if (operation >= DEF_CFA && operation <= DEF_CFA_EXPRESSION)
			return true;
		if (operation == NOP)
			continue;
		if (operation >> 6 != 2) /* DW_CFA_offset: a register was saved already */
			return false;
		get_uleb(cursor);
		return true;
	}
	return false;
}

static int read_fde(const struct image *image, uint64_t address, struct fde *fde)
{
	unsigned char bytes[ENTRY_ROOM];
	struct cursor cursor;
	struct cie cie;
	uint64_t back, length;
	int rc = cursor_open(&cursor, image, address, bytes, sizeof(bytes));

	if (rc != 0)
		return rc;
	length = get_fixed(&cursor, 4);
	if (length == UINT32_MAX)
		return -EOPNOTSUPP;
	if (length < (uint64_t)(cursor.end - cursor.at))
		cursor.end = cursor.at + length;
	back = get_fixed(&cursor, 4);
	if (back == 0)
		return -EBADMSG;
	rc = read_cie(image, address + 4 - back, &cie);
	if (rc != 0)
		return rc;
	fde->address = get_pointer(&cursor, cie.pointer);
	fde->size = get_pointer(&cursor, cie.pointer & FORMAT);
	fde->lsda = 0;
	if (cie.augmented) {
		length = get_uleb(&cursor);
		const unsigned char *data = cursor.at;
		if (cie.lsda != OMITTED)
			fde->lsda = get_pointer(&cursor, cie.lsda & ~0x80u);
		if (cursor.bad || length > (uint64_t)(cursor.end - data))
			return -EBADMSG;
		cursor.at = data + length;
	}
	if (cursor.bad)
		return -EBADMSG;
	fde->begins_inside = redefines_frame(&cursor);
	return 0;
}

/* Row `i` of the search table: pairs of 32-bit offsets from the header. */
static int read_row(const struct image *image, const Elf64_Phdr *header, uint64_t i,
		    uint64_t *address, uint64_t *fde)
{
	int32_t row[2];

	if (image_read(image, header->p_offset + HEADER + 8 * i, row, sizeof(row)) != 0)
		return -EBADMSG;
	*address = header->p_vaddr + (uint64_t)(int64_t)row[0];
	*fde = header->p_vaddr + (uint64_t)(int64_t)row[1];
	return 0;
}

/* The last row that begins at or before `address`. */
static int search(const struct image *image, const Elf64_Phdr *header, uint64_t n, uint64_t address,
		  uint64_t *fde)
{
	uint64_t low = 0, begins;
	int rc;

	while (low < n) {
		uint64_t middle = low + (n - low) / 2;
		rc = read_row(image, header, middle, &begins, fde);
		if (rc != 0)
			return rc;
		if (begins <= address)
			low = middle + 1;
		else
			n = middle;
	}
	return low == 0 ? -ENOENT : read_row(image, header, low - 1, &begins, fde);
}

int fde_find(const struct image *image, uint64_t address, struct fde *fde)
{
	const Elf64_Phdr *header = image_segment(image, PT_GNU_EH_FRAME);
	unsigned char bytes[HEADER];
	uint32_t n;
	uint64_t entry = 0;
	int rc;

	if (!header)
		return -ENOENT;
	if (image_read(image, header->p_offset, bytes, sizeof(bytes)) != 0)
		return -EBADMSG;
	if (bytes[0] != 1 || (bytes[1] & FORMAT) != S4 || bytes[2] != U4 ||
	    bytes[3] != (DATA_RELATIVE | S4))
		return -EOPNOTSUPP;
	memcpy(&n, bytes + 8, sizeof(n));
	rc = search(image, header, n, address, &entry);
	if (rc == 0)
		rc = read_fde(image, entry, fde);
	if (rc == 0 && address - fde->address >= fde->size)
		rc = -ENOENT;
	return rc;
}

/* `base` is where pads count from, `start` where the calls do. */
static void read_call_sites(struct cursor *cursor, unsigned encoding, uint64_t base, uint64_t start,
			    fde_pads *pads)
{
	uint64_t site, size, pad;

	while (cursor->at < cursor->end && !cursor->bad) {
		site = get_pointer(cursor, encoding);
		size = get_pointer(cursor, encoding);
		pad = get_pointer(cursor, encoding);
		get_uleb(cursor);
		if (pad && !cursor->bad)
			*vec_push(pads) = (struct code_entry){
				.address = base + pad, .site = start + site, .site_size = size};
	}
}

int fde_landing_pads(const struct image *image, const struct fde *fde, fde_pads *pads)
{
	_cleanup_free_ unsigned char *bytes = alloc_resize(NULL, LSDA_ROOM, 1);
	uint64_t base = fde->address, length;
	struct cursor cursor;
	unsigned encoding;

	if (!fde->lsda)
		return 0;
	if (cursor_open(&cursor, image, fde->lsda, bytes, LSDA_ROOM) != 0)
		return -EBADMSG;
	encoding = (unsigned)get_fixed(&cursor, 1);
	if (encoding != OMITTED)
		base = get_pointer(&cursor, encoding);
	encoding = (unsigned)get_fixed(&cursor, 1);
	if (encoding != OMITTED)
		get_uleb(&cursor);
	encoding = (unsigned)get_fixed(&cursor, 1);
	length = get_uleb(&cursor);
	if (cursor.bad || length > (uint64_t)(cursor.end - cursor.at) ||
	    (encoding & RELATION) != ABSOLUTE)
		return -EBADMSG;
	cursor.end = cursor.at + length;
	read_call_sites(&cursor, encoding, base, fde->address, pads);
	return cursor.bad ? -EBADMSG : 0;
}
