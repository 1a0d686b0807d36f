/*
 * Any bytes as USDT notes, in a sound file; as a file with notes; and as the arguments of a site,
 * on both machines. What comes out must be whole: a site that can be probed lies in code, an
 * argument is read or says why not.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/sdt.h"
#include "target/sdtmissing.h"

#define CODE  0x1000
#define NOTES 0x1100

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_args(const struct sdtarg *args, size_t n)
{
	for (size_t i = 0; i < n && i < SDTARG_MOST; i++) {
		const struct up_arg *arg = &args[i].arg;
		check((arg->kind == UP_ARG_NONE) == (args[i].problem[0] != '\0'));
		if (arg->kind == UP_ARG_NONE)
			continue;
		check(args[i].type && args[i].operand_length > 0);
		check(arg->size == 1 || arg->size == 2 || arg->size == 4 || arg->size == 8);
		check(arg->shift <= 8 && arg->spare == 0);
		check(arg->kind != UP_ARG_REGISTER || arg->base <= 264);
		check(arg->kind != UP_ARG_MEMORY ||
		      ((arg->base <= 264 || arg->base == UP_ARG_NO_REGISTER) &&
		       (arg->index <= 264 || arg->index == UP_ARG_NO_REGISTER)));
	}
}

static const char *symbol(void *context, const char *name, size_t length, uint64_t *address)
{
	(void)context;
	*address = length;
	return memchr(name, 'x', length) ? "is not there" : NULL;
}

static void parse(const char *text, uint16_t machine, bool fixed)
{
	struct sdtarg args[SDTARG_MOST];
	struct sdtarg_site site = {
		.machine = machine, .address = CODE, .fixed = fixed, .symbol = symbol};
	size_t n = sdtarg_parse(text, &site, args, SDTARG_MOST);

	check_args(args, n);
	check(sdtarg_parse(text, &site, NULL, 0) == n);
}

static void read_file(int fd, size_t size, bool missing)
{
	struct sdtarg args[SDTARG_MOST];
	struct arena arena;
	struct sdt sdt;
	struct err err;

	arena_init(&arena);
	if (sdt_read(&sdt, fd, &arena, &err) == 0) {
		for (size_t i = 0; i < sdt.n; i++) {
			const struct sdt_site *site = &sdt.sites[i];
			check(!site->reason == !site->problem);
			check(site->reason || (site->offset && site->offset < size));
			check(site->semaphore < size && site->semaphore % 2 == 0);
			check(*site->provider && *site->name);
			check_args(args, sdt_args(&sdt, site, args, SDTARG_MOST));
		}
		if (missing)
			sdtmissing_text(&sdt, fd, "/nowhere", "p:name-of_it", &arena);
	}
	arena_fini(&arena);
}

/* A file with the bytes as its notes, and code of one byte each. */
static size_t write_notes(int fd, const uint8_t *bytes, size_t size)
{
	static const char names[32] = "\0.note.stapsdt\0.stapsdt.base";
	unsigned char code[0x100];
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
#ifdef __aarch64__
		.e_machine = EM_AARCH64,
#else
		.e_machine = EM_X86_64,
#endif
		.e_version = EV_CURRENT,
		.e_phoff = 0x40,
		.e_shoff = 0x200,
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	const Elf64_Phdr phdr[2] = {{.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = CODE,
				     .p_vaddr = CODE,
				     .p_filesz = 0x100,
				     .p_memsz = 0x100},
				    {.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_W,
				     .p_offset = CODE,
				     .p_vaddr = 0x2000,
				     .p_filesz = 0x100,
				     .p_memsz = 0x200}};
	const Elf64_Shdr shdr[4] = {
		{0},
		{.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = size},
		{.sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = 0x2000, .sh_size = 1},
		{.sh_type = SHT_STRTAB, .sh_offset = 0x400, .sh_size = sizeof(names)}};

	memset(code, 0x90, sizeof(code));
	pwrite(fd, &ehdr, sizeof(ehdr), 0);
	pwrite(fd, phdr, sizeof(phdr), 0x40);
	pwrite(fd, shdr, sizeof(shdr), 0x200);
	pwrite(fd, names, sizeof(names), 0x400);
	pwrite(fd, code, sizeof(code), CODE);
	pwrite(fd, bytes, size, NOTES);
	return NOTES + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int fd = -1;
	char text[4096];

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (ftruncate(fd, 0))
		return 0;
	if (size > 4 && memcmp(bytes, ELFMAG, SELFMAG) == 0) {
		if (pwrite(fd, bytes, size, 0) == (ssize_t)size)
			read_file(fd, size, false);
		return 0;
	}
	read_file(fd, write_notes(fd, bytes, size), true);
	snprintf(text, sizeof(text), "%.*s", (int)(size < sizeof(text) ? size : sizeof(text) - 1),
		 (const char *)bytes);
	parse(text, EM_X86_64, false);
	parse(text, EM_X86_64, true);
	parse(text, EM_AARCH64, false);
	return 0;
}
