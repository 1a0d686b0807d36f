/*
 * .eh_frame: length-prefixed records, CIEs among them, whose augmentation string has a 'P' when a
 * personality routine follows. Format: LSB Core generic, chapter 10.6; .eh_frame_hdr: 10.6.2.
 */
#include "target/unwind.h"

#include <string.h>

#include "base/alloc.h"

enum {
	MOST_RECORDS = 8 << 20,
	PCREL_SDATA4 = 0x1b, /* DW_EH_PE_pcrel | DW_EH_PE_sdata4: what every linker writes */
	WINDOW = 64 * 1024,
	CIE_START = 20, /* length, id, version and the first bytes of the augmentation */
};

struct window {
	const struct image *image;
	uint64_t start, length;
	unsigned char bytes[WINDOW];
};

/* `length` (at most CIE_START) bytes at a file offset, or NULL. */
static const unsigned char *window_get(struct window *window, uint64_t offset, size_t length)
{
	if (offset < window->start || offset + length > window->start + window->length) {
		uint64_t left = window->image->size - offset;
		if (offset > window->image->size || left < length)
			return NULL;
		window->start = offset;
		window->length = left < WINDOW ? left : WINDOW;
		if (image_read(window->image, offset, window->bytes, window->length)) {
			window->length = 0;
			return NULL;
		}
	}
	return window->bytes + (offset - window->start);
}

/* The file offset of .eh_frame, and how far its segment reaches. */
static bool find_frames(const struct image *image, uint64_t *offset, uint64_t *room)
{
	const Elf64_Phdr *segment = image_segment(image, PT_GNU_EH_FRAME);
	unsigned char head[8];
	int32_t distance;

	if (!segment || image_read(image, segment->p_offset, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != PCREL_SDATA4)
		return false;
	memcpy(&distance, head + 4, sizeof(distance));
	uint64_t address = segment->p_vaddr + 4 + (uint64_t)(int64_t)distance;
	return image_offset(image, address, offset, room);
}

/* The augmentation string begins after the version byte; "eh" and unknown letters are old. */
static bool has_personality(const unsigned char *cie, size_t length)
{
	const char *augmentation = (const char *)cie + 9;

	return memchr(augmentation, 'P', strnlen(augmentation, length - 9)) != NULL;
}

static enum unwind_answer scan(struct window *window, uint64_t at, uint64_t room)
{
	uint64_t end = at + room;

	for (int i = 0; at + 4 <= end; i++) {
		if (i == MOST_RECORDS)
			return UNWIND_UNKNOWN;
		uint32_t length, id;
		const unsigned char *record = window_get(window, at, 4);
		if (!record)
			return UNWIND_UNKNOWN;
		memcpy(&length, record, sizeof(length));
		if (length == 0) /* the terminator */
			return UNWIND_NONE;
		if (length == UINT32_MAX || length > end - at - 4 || length < 4)
			return UNWIND_UNKNOWN;
		size_t some = length + 4 < CIE_START ? length + 4 : CIE_START;
		record = window_get(window, at, some);
		if (!record)
			return UNWIND_UNKNOWN;
		memcpy(&id, record + 4, sizeof(id));
		if (id == 0 && some > 9 && has_personality(record, some))
			return UNWIND_PERSONALITY;
		at += 4 + (uint64_t)length;
	}
	return UNWIND_NONE;
}

enum unwind_answer unwind_personality(const struct image *image)
{
	uint64_t offset, room;

	if (!image_segment(image, PT_GNU_EH_FRAME))
		return UNWIND_NONE;
	if (!find_frames(image, &offset, &room))
		return UNWIND_UNKNOWN;
	_cleanup_free_ struct window *window = alloc_zero(1, sizeof(*window));
	window->image = image;
	return scan(window, offset, room);
}
