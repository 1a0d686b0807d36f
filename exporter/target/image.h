/*
 * An ELF file as this program reads it: 64-bit, little-endian, of this machine. Everything in
 * the file is untrusted. Reading is by pread in bounded pieces, never through a mapping (a file
 * cut short while mapped ends the reader with SIGBUS), and not through libelf, which copies whole
 * sections into memory.
 *
 * Formats: System V ABI (gABI) chapters 4 and 5; <elf.h>.
 */
#ifndef TARGET_IMAGE_H
#define TARGET_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The kernel runs no program with more than 64 KiB of program headers. */
#define IMAGE_MAX_PHDRS (65536 / sizeof(Elf64_Phdr))
#define IMAGE_MAX_SHDRS 65536

struct image {
	int fd;	       /* borrowed */
	uint64_t size; /* bytes in the file when it was opened */
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdr;
	size_t n_phdr;
	Elf64_Shdr *shdr; /* none when the file has no section headers */
	size_t n_shdr;
};

/*
 * Read and check the headers of the regular file `fd`, which must stay open. 0, or -errno with
 * `err` filled (REASON_NOT_ELF, REASON_WRONG_MACHINE, REASON_BAD_ELF): a text that goes after
 * "PATH: ". After a failure there is nothing to close.
 */
int image_open(struct image *image, int fd, struct err *err);
void image_close(struct image *image);

/* Read exactly `length` bytes at `offset`; -ENODATA when the file does not have them. */
int image_read(const struct image *image, uint64_t offset, void *bytes, size_t length);
/* Whether [offset, offset + length) lies in the file. */
bool image_holds(const struct image *image, uint64_t offset, uint64_t length);

/*
 * The file offset of a virtual address, from PT_LOAD alone; `room` (may be NULL) gets the bytes
 * from there to the end of that segment's file part. False when no segment's file part, or for
 * image_code_offset no executable one's, holds the address.
 */
bool image_offset(const struct image *image, uint64_t address, uint64_t *offset, uint64_t *room);
bool image_code_offset(const struct image *image, uint64_t address, uint64_t *offset,
		       uint64_t *room);

/* The virtual address of an offset in an executable segment's file part; false: it is in none. */
bool image_code_address(const struct image *image, uint64_t offset, uint64_t *address);

/* The smallest file range that covers every executable segment. */
void image_exec_range(const struct image *image, uint64_t *offset, uint64_t *size);

const Elf64_Phdr *image_segment(const struct image *image, uint32_t type); /* first, or NULL */
const Elf64_Shdr *image_section(const struct image *image, uint32_t type); /* first, or NULL */
/* The first section of this name, or NULL; names longer than 63 bytes are not found. */
const Elf64_Shdr *image_section_named(const struct image *image, const char *name);
/* The next one of this name after `before`, which may be NULL: the first. */
const Elf64_Shdr *image_section_next(const struct image *image, const char *name,
				     const Elf64_Shdr *before);

/*
 * The descriptor of the first note with this owner and type in a PT_NOTE segment: at most `room`
 * bytes into `desc`. Returns its whole length, 0 when there is none.
 */
size_t image_note(const struct image *image, const char *owner, uint32_t type, void *desc,
		  size_t room);

#define IMAGE_BUILD_ID_ROOM 129 /* 64 bytes in hexadecimal and NUL: longer ids are cut */
/* The GNU build id in lower-case hexadecimal, "" when the file has none. */
void image_build_id(const struct image *image, char text[IMAGE_BUILD_ID_ROOM]);

#endif
