/*
 * For the tests of fde.h and body.h: a small file with call frame information, made by hand.
 * Addresses are file offsets. A function at FUNCTION with a part at COLD and a landing pad.
 */
#ifndef TESTS_UNIT_TARGET_FRAMED_H
#define TESTS_UNIT_TARGET_FRAMED_H

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/image.h"

#define HEADER	 0x200
#define CIE	 0x300
#define FDE	 0x340
#define COLD_FDE 0x380
#define LSDA	 0x400
#define FUNCTION 0x500
#define COLD	 0x600
#define PAD	 (FUNCTION + 0x10)
#define ALL	 0x800

/* push %rbx; test %edi,%edi; jne COLD; call far away; pop %rbx; ret; pad: jmp COLD */
static const unsigned char function_code[] = {0x53, 0x85, 0xff, 0x0f, 0x85, 0xf7, 0,
					      0,    0,	  0xe8, 0,    0x10, 0,	  0,
					      0x5b, 0xc3, 0xe9, 0xeb, 0,    0,	  0};
/* call far away; pop %rbx; ret */
static const unsigned char cold_code[] = {0xe8, 0, 0x10, 0, 0, 0x5b, 0xc3};

static inline void put32(unsigned char *file, size_t at, int64_t value)
{
	int32_t word = (int32_t)value;

	memcpy(file + at, &word, sizeof(word));
}

static inline void put_elf_header(unsigned char *file)
{
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr phdr[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = ALL,
		 .p_memsz = ALL,
		 .p_align = 0x1000},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_flags = PF_R,
		 .p_offset = HEADER,
		 .p_vaddr = HEADER,
		 .p_filesz = 28,
		 .p_memsz = 28},
	};

	memcpy(file, &ehdr, sizeof(ehdr));
	memcpy(file + sizeof(ehdr), phdr, sizeof(phdr));
}

static inline void put_fde(unsigned char *file, size_t at, uint64_t address, size_t size,
			   uint64_t lsda)
{
	put32(file, at, 0x20);
	put32(file, at + 4, (int64_t)at + 4 - CIE);
	put32(file, at + 8, (int64_t)address - (int64_t)at - 8);
	put32(file, at + 12, (int64_t)size);
	file[at + 16] = 4; /* augmentation data: the LSDA */
	put32(file, at + 17, lsda ? (int64_t)lsda - (int64_t)at - 17 : 0);
}

static inline void put_frames(unsigned char *file)
{
	/* version 1, "zPLR", code 1, data -8, ra 16; P pcrel 4 bytes, L pcrel, R pcrel */
	static const unsigned char cie[] = {1, 'z',  'P', 'L', 'R', 0, 1,    0x78, 16,
					    7, 0x9b, 1,	  0,   0,   0, 0x1b, 0x1b};
	/* No LPStart, no types; call sites as ULEB: [0, 2) without a pad; [9, 14) → PAD */
	static const unsigned char lsda[] = {0xff, 0xff, 1, 8, 1, 2, 0, 0, 9, 5, 0x10, 0};
	static const unsigned char header[] = {1, 0x1b, 3, 0x3b};

	memcpy(file + HEADER, header, sizeof(header));
	put32(file, HEADER + 4, CIE - (HEADER + 4));
	put32(file, HEADER + 8, 2);
	put32(file, HEADER + 12, FUNCTION - HEADER);
	put32(file, HEADER + 16, FDE - HEADER);
	put32(file, HEADER + 20, COLD - HEADER);
	put32(file, HEADER + 24, COLD_FDE - HEADER);
	put32(file, CIE, 0x20);
	put32(file, CIE + 4, 0);
	memcpy(file + CIE + 8, cie, sizeof(cie));
	put_fde(file, FDE, FUNCTION, sizeof(function_code), LSDA);
	put_fde(file, COLD_FDE, COLD, sizeof(cold_code), 0);
	memcpy(file + LSDA, lsda, sizeof(lsda));
}

static inline void make_file(unsigned char file[ALL])
{
	memset(file, 0, ALL);
	put_elf_header(file);
	put_frames(file);
	memcpy(file + FUNCTION, function_code, sizeof(function_code));
	memcpy(file + COLD, cold_code, sizeof(cold_code));
}

/* Open the bytes as a file; image->fd is the caller's to close. */
static inline void open_bytes(struct image *image, const unsigned char file[ALL])
{
	struct err err;
	int fd = memfd_create("framed", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, ALL), ALL);
	if (image_open(image, fd, &err) != 0)
		fail_msg("%s", err.msg);
}

static inline void close_bytes(struct image *image)
{
	close(image->fd);
	image_close(image);
}

#endif
