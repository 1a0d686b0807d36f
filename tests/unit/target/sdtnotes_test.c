/* USDT notes of files made by hand, with what is wrong or odd in them one at a time. */
#include "sdts.h"

#include <elf.h>
#include <sys/mman.h>

#define CODE	   0x1000 /* offset of the code; its address is 0x401000 */
#define CODE_AT	   UINT64_C(0x401000)
#define DATA	   0x2000 /* of the data, at 0x403000: 0x100 bytes in the file, 0x1000 in all */
#define DATA_AT	   UINT64_C(0x403000)
#define BASE_AT	   UINT64_C(0x402000)
#define NOTES	   0x3000
#define NAMES	   0x2800
#define SECTIONS   0x2900
#define NOTES_ROOM (8u << 20)

struct made {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	Elf64_Shdr shdr[5]; /* none, notes, base, names, more notes */
	unsigned char *notes;
	size_t size; /* of the notes */
};

static struct made made;

static void make(void)
{
	static unsigned char notes[NOTES_ROOM];

	made = (struct made){
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_EXEC,
#ifdef __aarch64__
			 .e_machine = EM_AARCH64,
#else
			 .e_machine = EM_X86_64,
#endif
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf64_Ehdr),
			 .e_shoff = SECTIONS,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3},
		.phdr = {{.p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_offset = CODE,
			  .p_vaddr = CODE_AT,
			  .p_filesz = 0x100,
			  .p_memsz = 0x100},
			 {.p_type = PT_LOAD,
			  .p_flags = PF_R | PF_W,
			  .p_offset = DATA,
			  .p_vaddr = DATA_AT,
			  .p_filesz = 0x100,
			  .p_memsz = 0x1000}},
		.shdr = {{0},
			 {.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_addralign = 4},
			 {.sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = BASE_AT, .sh_size = 1},
			 {.sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = 64},
			 {.sh_name = 1,
			  .sh_type = SHT_NOTE,
			  .sh_offset = NOTES,
			  .sh_addralign = 4}},
		.notes = notes,
	};
}

static int read_made(void)
{
	static const char names[64] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";
	unsigned char code[0x100], data[0x100] = {0};
	int fd = memfd_create("made", MFD_CLOEXEC);

	assert_true(fd >= 0);
#ifdef __aarch64__
	for (size_t i = 0; i < sizeof(code); i += 4)
		memcpy(code + i, &(uint32_t){0xd503201f}, 4);
#else
	memset(code, 0x90, sizeof(code));
#endif
	if (!made.shdr[1].sh_size)
		made.shdr[1].sh_size = made.size;
	pwrite(fd, &made.ehdr, sizeof(made.ehdr), 0);
	pwrite(fd, made.phdr, sizeof(made.phdr), sizeof(made.ehdr));
	pwrite(fd, code, sizeof(code), CODE);
	pwrite(fd, data, sizeof(data), DATA);
	pwrite(fd, names, sizeof(names), NAMES);
	pwrite(fd, made.shdr, sizeof(made.shdr), SECTIONS);
	assert_int_equal(pwrite(fd, made.notes, made.size, NOTES), made.size);
	int rc = sdt_read(&sdt, fd, &arena, &err);
	close(fd);
	return rc;
}

static void read_right(void)
{
	if (read_made())
		fail_msg("%s", err.msg);
}

static void put(const void *bytes, size_t size)
{
	assert_true(made.size + size <= NOTES_ROOM);
	memcpy(made.notes + made.size, bytes, size);
	made.size += size;
}

/* A note with these texts, `length` bytes of them, NULs and all. */
static void put_texts(const void *address, size_t address_size, const char *texts, size_t length)
{
	static const unsigned char padding[4] = {0};
	Elf64_Nhdr note = {8, (Elf64_Word)(address_size + length), 3};

	put(&note, sizeof(note));
	put("stapsdt", 8);
	put(address, address_size);
	put(texts, length);
	put(padding, -made.size & 3);
}

#define PUT(site, base, semaphore, texts)                                                          \
	put_texts((uint64_t[]){site, base, semaphore}, 24, texts, sizeof(texts))
#define PUT32(site, base, semaphore, texts)                                                        \
	put_texts((uint32_t[]){site, base, semaphore}, 12, texts, sizeof(texts))

static void a_right_note_is_read(void **state)
{
	(void)state;
	make();
	PUT(CODE_AT + 8, BASE_AT, DATA_AT + 2, "p\0n\0-4@7");
	read_right();
	assert_int_equal(sdt.n, 1);
	expect_right("p:n");
	assert_string_equal(sdt.sites[0].provider, "p");
	assert_string_equal(sdt.sites[0].name, "n");
	assert_string_equal(sdt.sites[0].args, "-4@7");
	assert_int_equal(sdt.sites[0].address, CODE_AT + 8);
	assert_int_equal(sdt.sites[0].offset, CODE + 8);
	assert_int_equal(sdt.sites[0].semaphore, DATA + 2);
	assert_null(sdt.damage);
	make();
	PUT(CODE_AT + 8, 0, 0, "p\0n\0-4@7\0\0\0"); /* padded within */
	read_right();
	expect_right("p:n");
	assert_string_equal(sdt.sites[0].args, "-4@7");
}

/* All addresses of a note move by as much as .stapsdt.base has moved. */
static void addresses_move_with_the_base(void **state)
{
	static const struct {
		uint64_t noted, section, moved;
		bool without;
	} cases[] = {
		{BASE_AT, BASE_AT, 0, false},
		{BASE_AT - 0x20, BASE_AT, 0x20, false},
		{BASE_AT + 0x10, BASE_AT, -UINT64_C(0x10), false},
		{0, BASE_AT, 0, false}, /* no base in the note, though there is a section */
		{BASE_AT, 0, 0, false}, /* the section is not loaded */
		{BASE_AT, BASE_AT + 0x20, 0, true},
		{0, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		make();
		made.shdr[2].sh_addr = cases[i].section;
		if (cases[i].without)
			made.shdr[2].sh_name = 0;
		PUT(CODE_AT + 0x40, cases[i].noted, DATA_AT + 0x40, "p\0n\0");
		read_right();
		expect_right("p:n");
		assert_int_equal(sdt.sites[0].offset, CODE + 0x40 + cases[i].moved);
		assert_int_equal(sdt.sites[0].semaphore, DATA + 0x40 + cases[i].moved);
	}
}

static void sites_and_semaphores_outside_are_told(void **state)
{
	static const struct {
		uint64_t site, semaphore;
		enum reason reason;
		const char *problem;
	} cases[] = {
		{CODE_AT - 1, 0, REASON_NOT_AN_INSTRUCTION, "0x400fff is not in the file's code"},
		{CODE_AT + 0x100, 0, REASON_NOT_AN_INSTRUCTION, "not in the file's code"},
		{DATA_AT, 0, REASON_NOT_AN_INSTRUCTION, "not in the file's code"},
		{0, 0, REASON_NOT_AN_INSTRUCTION, "0x0 is not in the file's code"},
		{UINT64_MAX, 0, REASON_NOT_AN_INSTRUCTION, "not in the file's code"},
		{CODE_AT, CODE_AT, REASON_BAD_ELF, "not in writable memory"},
		{CODE_AT, DATA_AT + 0x100, REASON_BAD_ELF, "only in memory"},
		{CODE_AT, DATA_AT + 0xff, REASON_BAD_ELF, "only in memory"},
		{CODE_AT, DATA_AT + 1, REASON_BAD_ELF, "odd place"},
		{CODE_AT, DATA_AT + 0x1000, REASON_BAD_ELF, "not in the file's memory"},
		{CODE_AT, DATA_AT - 2, REASON_BAD_ELF, "not in the file's memory"},
		{CODE_AT, 1, REASON_BAD_ELF, "not in the file's memory"},
		{CODE_AT, UINT64_MAX, REASON_BAD_ELF, "not in the file's memory"},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		make();
		PUT(cases[i].site, 0, cases[i].semaphore, "p\0n\0");
		read_right();
		expect_problem("p:n", cases[i].reason, cases[i].problem);
		assert_int_equal(sdt.sites[0].semaphore, 0);
	}
}

static void notes_for_32_bits_are_not_misread(void **state)
{
	(void)state;
	make();
	PUT32((uint32_t)CODE_AT, (uint32_t)BASE_AT, 0, "narrow\0n\0-4@%eax");
	/* Long enough to look like one of 64 bits. */
	PUT32((uint32_t)CODE_AT + 4, (uint32_t)BASE_AT, 0, "a_long_provider\0n\0");
	PUT32((uint32_t)CODE_AT + 4, (uint32_t)BASE_AT, 0, "p\0a_name_of_some_length\0");
	PUT(CODE_AT + 8, BASE_AT, 0, "wide\0n\0");
	read_right();
	assert_int_equal(sdt.n, 4);
	expect_problem("narrow:n", REASON_BAD_ELF, "32-bit program");
	expect_problem("a_long_provider:n", REASON_BAD_ELF, "32-bit program");
	expect_problem("p:a_name_of_some_length", REASON_BAD_ELF, "32-bit program");
	expect_right("wide:n");
	assert_null(sdt.damage);
	/* A file of 32 bits. */
	made.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	assert_true(read_made() < 0);
	assert_int_equal(err.reason, REASON_WRONG_MACHINE);
	assert_non_null(strstr(err.msg, "32-bit"));
}

/* What is right before and after a bad note is read all the same. */
static void bad_notes_are_passed_over(void **state)
{
	static const struct {
		const char *texts;
		size_t length;
	} cases[] = {
		{"", 0},      {"p", 1},		 {"p\0n\0a", 5}, /* the last NUL is missing */
		{"p\0n", 3},  {"p\0n\0a\0b", 8},		 /* one text too many */
		{"\0n\0", 4}, {"p\0\0", 4},	 {"\0\0", 3},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		make();
		PUT(CODE_AT, 0, 0, "first\0n\0");
		put_texts((uint64_t[]){CODE_AT, 0, 0}, 24, cases[i].texts, cases[i].length);
		PUT(CODE_AT + 4, 0, 0, "last\0n\0");
		read_right();
		assert_int_equal(sdt.n, 2);
		expect_right("first:n");
		expect_right("last:n");
		assert_non_null(strstr(sdt.damage, "not as it should be"));
	}
}

static void other_notes_are_passed_over(void **state)
{
	Elf64_Nhdr other = {4, 6, 1}, later = {8, 32, 4}, nameless = {0, 0, 3};

	(void)state;
	make();
	put(&other, sizeof(other));
	put("GNU\0abcdef\0\0", 12);
	PUT(CODE_AT, 0, 0, "p\0n\0");
	put(&later, sizeof(later)); /* a version to come */
	put("stapsdt", 8);
	put((char[32]){0}, 32);
	put(&nameless, sizeof(nameless));
	read_right();
	assert_int_equal(sdt.n, 1);
	expect_right("p:n");
	assert_null(sdt.damage);
}

static void notes_that_are_cut_short(void **state)
{
	static const struct {
		uint32_t namesz, descsz;
	} cases[] = {{8, 0x1000}, {8, UINT32_MAX},    {UINT32_MAX, 24}, {UINT32_MAX, UINT32_MAX},
		     {0x1000, 0}, {UINT32_MAX - 3, 0}};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		Elf64_Nhdr note = {cases[i].namesz, cases[i].descsz, 3};
		make();
		PUT(CODE_AT, 0, 0, "p\0n\0");
		put(&note, sizeof(note));
		put("stapsdt", 8);
		read_right();
		assert_int_equal(sdt.n, 1);
		expect_right("p:n");
		assert_string_equal(sdt.damage, "its notes are cut short");
	}
	/* At each length, something is read or damage is told, and nothing outside. */
	make();
	PUT(CODE_AT, 0, 0, "p\0n\0");
	for (size_t size = 1; size < 12 + 8 + 24 + 5; size++) {
		made.shdr[1].sh_size = size;
		read_right();
		assert_int_equal(sdt.n, 0);
		assert_non_null(sdt.damage);
	}
}

static void sections_of_other_kinds(void **state)
{
	(void)state;
	make();
	PUT(CODE_AT, 0, 0, "p\0n\0");
	made.shdr[1].sh_type = SHT_PROGBITS; /* the name tells what it is */
	read_right();
	expect_right("p:n");
	made.shdr[1].sh_type = SHT_NOBITS; /* as a debug file has it */
	read_right();
	assert_int_equal(sdt.n, 0);
	assert_true(sdt.has_notes);
	assert_string_equal(sdt.damage, "its notes were taken out");
	made.shdr[1].sh_type = SHT_NOTE;
	made.shdr[1].sh_flags = SHF_COMPRESSED;
	read_right();
	assert_string_equal(sdt.damage, "its notes are compressed");
	made.shdr[1].sh_flags = 0;
	made.shdr[1].sh_offset = UINT64_MAX - 4;
	read_right();
	assert_string_equal(sdt.damage, "its notes lie outside of the file");
	made.shdr[1].sh_offset = NOTES;
	made.shdr[1].sh_size = UINT64_MAX;
	read_right();
	assert_string_equal(sdt.damage, "its notes lie outside of the file");
}

static void several_sections_and_alignments(void **state)
{
	size_t first;

	(void)state;
	make();
	made.ehdr.e_shnum = 5;
	PUT(CODE_AT, 0, 0, "p\0first\0");
	first = made.size;
	PUT(CODE_AT + 4, 0, 0, "p\0second\0");
	made.shdr[1].sh_size = first;
	made.shdr[4].sh_offset = NOTES + first;
	made.shdr[4].sh_size = made.size - first;
	read_right();
	assert_int_equal(sdt.n, 2);
	expect_right("p:first");
	expect_right("p:second");
	make();
	made.shdr[1].sh_addralign = 0;
	PUT(CODE_AT, 0, 0, "p\0n\0abc");
	PUT(CODE_AT + 4, 0, 0, "p\0m\0");
	read_right();
	assert_int_equal(sdt.n, 2);
}

static void sites_are_sorted(void **state)
{
	(void)state;
	make();
	PUT(CODE_AT + 8, 0, 0, "q\0a\0");
	PUT(CODE_AT + 12, 0, 0, "p\0b\0");
	PUT(CODE_AT + 4, 0, 0, "p\0b\0");
	PUT(CODE_AT, 0, 0, "p\0a\0");
	PUT(CODE_AT + 12, 0, 0, "p\0b\0");
	read_right();
	assert_int_equal(sdt.n, 4);
	assert_int_equal(sdt.sites[0].offset, CODE);
	assert_int_equal(sdt.sites[1].offset, CODE + 4);
	assert_int_equal(sdt.sites[2].offset, CODE + 12);
	assert_int_equal(sdt.sites[3].offset, CODE + 8);
}

static void too_many_notes_are_refused(void **state)
{
	(void)state;
	make();
	for (unsigned i = 0; i < SDT_MOST; i++)
		PUT(CODE_AT + 4 * (i % 64), 0, 0, "p\0n\0");
	read_right();
	assert_int_equal(sdt.n, 64);
	PUT(CODE_AT, 0, 0, "p\0n\0");
	made.shdr[1].sh_size = 0;
	assert_true(read_made() < 0);
	assert_int_equal(err.reason, REASON_LIMIT);
	assert_non_null(strstr(err.msg, "more than 65536"));
}

static void too_large_sections_are_refused(void **state)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	(void)state;
	make();
	made.shdr[1].sh_size = SDT_MOST_BYTES + 1;
	assert_true(fd >= 0);
	pwrite(fd, &made.ehdr, sizeof(made.ehdr), 0);
	pwrite(fd, made.phdr, sizeof(made.phdr), sizeof(made.ehdr));
	pwrite(fd, "\0.note.stapsdt", 15, NAMES);
	pwrite(fd, made.shdr, sizeof(made.shdr), SECTIONS);
	assert_int_equal(ftruncate(fd, NOTES + SDT_MOST_BYTES + 4096), 0);
	assert_true(sdt_read(&sdt, fd, &arena, &err) < 0);
	assert_int_equal(err.reason, REASON_LIMIT);
	assert_non_null(strstr(err.msg, "16 MiB"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_right_note_is_read),
		TEST(addresses_move_with_the_base),
		TEST(sites_and_semaphores_outside_are_told),
		TEST(notes_for_32_bits_are_not_misread),
		TEST(bad_notes_are_passed_over),
		TEST(other_notes_are_passed_over),
		TEST(notes_that_are_cut_short),
		TEST(sections_of_other_kinds),
		TEST(several_sections_and_alignments),
		TEST(sites_are_sorted),
		TEST(too_many_notes_are_refused),
		TEST(too_large_sections_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
