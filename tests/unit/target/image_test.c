/*
 * Wrong binaries: every kind of file that is not a sound ELF program of this machine, and what is
 * said about it. The damaged ones are a right file with a few bytes changed.
 */
#include "common.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define RIGHT ELF_DIR "plain.rdynamic"

static char folder[] = "/tmp/uprobe_image_XXXXXX";

static int setup(void **state)
{
	return build_victims(state) || !mkdtemp(folder);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static unsigned char *read_right(size_t *length)
{
	FILE *file = fopen(RIGHT, "r");

	assert_non_null(file);
	unsigned char *bytes = malloc(1 << 20);
	*length = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	assert_true(*length > sizeof(Elf64_Ehdr) && *length < 1 << 20);
	return bytes;
}

/* ---- not ELF ---- */

static void files_that_are_not_elf(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		enum reason reason;
		const char *says;
	} files[] = {
		{"", 0, REASON_NOT_ELF, "empty"},
		{"#!/bin/sh -e\nexit\n", 18, REASON_NOT_ELF, "#!/bin/sh -e"},
		{"#!\x1b[2J/x\n", 9, REASON_NOT_ELF, "script (#!?[2J/x)"},
		{"hello world\n", 12, REASON_NOT_ELF, "text"},
		{"!<arch>\nx", 9, REASON_NOT_ELF, "archive"},
		{"/* GNU ld script\n*/", 19, REASON_NOT_ELF, "linker script"},
		{"MZ\x90\0\3\0\0\0", 8, REASON_NOT_ELF, "Windows"},
		{"\x1f\x8b\x08\0", 4, REASON_NOT_ELF, "gzip"},
		{"\x01\x02\x03\x04\x05", 5, REASON_NOT_ELF, "01 02 03 04"},
		{"\x7f", 1, REASON_NOT_ELF, "7f"},
		{"\x7f"
		 "ELF",
		 4, REASON_BAD_ELF, "cut short"},
		{"\x7f"
		 "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e",
		 19, REASON_BAD_ELF, "cut short"},
		{"\x7f"
		 "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0\1\0\0",
		 23, REASON_BAD_ELF, "header"},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		write_file(path_of("other"), files[i].bytes, files[i].length);
		EXPECT(path_of("other"), "first", EXIT_NONE, files[i].reason, files[i].says,
		       folder);
	}
}

static void things_that_are_not_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	EXPECT(folder, "f", EXIT_NONE, REASON_NOT_ELF, "a directory");
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	EXPECT(path_of("fifo"), "f", EXIT_NONE, REASON_NOT_ELF, "a FIFO");
	EXPECT("/dev/zero", "f", EXIT_NONE, REASON_NOT_ELF, "a character device");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_of("socket"));
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	EXPECT(path_of("socket"), "f", EXIT_NONE, REASON_NOT_ELF, "a socket");
	close(sock);
}

static void files_that_are_not_there(void **state)
{
	char name[5000];

	(void)state;
	EXPECT(path_of("missing"), "f", EXIT_NONE, REASON_BINARY_NOT_FOUND, "no such file");
	EXPECT("", "f", EXIT_NONE, REASON_BINARY_NOT_FOUND);
	EXPECT("/etc/passwd/x", "f", EXIT_NONE, REASON_BINARY_NOT_FOUND, "not a directory");
	assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
	EXPECT(path_of("dangling"), "f", EXIT_NONE, REASON_BINARY_NOT_FOUND);
	assert_int_equal(symlink("loop", path_of("loop")), 0);
	EXPECT(path_of("loop"), "f", EXIT_NONE, REASON_BINARY_NOT_FOUND, "symbolic links");
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	EXPECT(name, "f", EXIT_NONE, REASON_BINARY_NOT_FOUND);
}

static void files_that_may_not_be_read(void **state)
{
	(void)state;
	size_t length;
	unsigned char *bytes = read_right(&length);
	write_file(path_of("secret"), bytes, length);
	free(bytes);
	assert_int_equal(chmod(path_of("secret"), 0), 0);
	bool root = geteuid() == 0;
	if (root) {
		assert_int_equal(chmod(folder, 0755), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	EXPECT(path_of("secret"), "f", EXIT_NONE, REASON_BINARY_UNREADABLE, "permission denied");
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static void odd_names_work(void **state)
{
	static const char *const names[] = {"we ird,\"na:me", "two\nlines", "q'uote", "#{}[]",
					    "\xff"};

	(void)state;
	size_t length;
	unsigned char *bytes = read_right(&length);
	for (size_t i = 0; i < N_ITEMS(names); i++) {
		write_file(path_of(names[i]), bytes, length);
		EXPECT(path_of(names[i]), "first", EXIT_AUTO, REASON_NONE);
	}
	free(bytes);
}

/* ---- damaged ELF ---- */

/* Where in a file of these tests' own making the interesting headers are. */
struct parts {
	unsigned char *bytes;
	size_t length;
	Elf64_Ehdr *ehdr;
	Elf64_Phdr *load, *code, *dynamic; /* first PT_LOAD, the executable one, PT_DYNAMIC */
	Elf64_Shdr *shdr, *symtab, *strtab, *dynsym;
	Elf64_Dyn *dyn;
};

static void find_parts(struct parts *parts)
{
	parts->ehdr = (Elf64_Ehdr *)(void *)parts->bytes;
	Elf64_Phdr *phdr = (Elf64_Phdr *)(void *)(parts->bytes + parts->ehdr->e_phoff);
	for (size_t i = parts->ehdr->e_phnum; i-- > 0;) {
		if (phdr[i].p_type == PT_LOAD)
			parts->load = &phdr[i];
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X))
			parts->code = &phdr[i];
		if (phdr[i].p_type == PT_DYNAMIC)
			parts->dynamic = &phdr[i];
	}
	parts->shdr = (Elf64_Shdr *)(void *)(parts->bytes + parts->ehdr->e_shoff);
	for (size_t i = 0; i < parts->ehdr->e_shnum; i++) {
		if (parts->shdr[i].sh_type == SHT_SYMTAB)
			parts->symtab = &parts->shdr[i];
		if (parts->shdr[i].sh_type == SHT_DYNSYM)
			parts->dynsym = &parts->shdr[i];
	}
	parts->strtab = &parts->shdr[parts->symtab->sh_link];
	parts->dyn = (Elf64_Dyn *)(void *)(parts->bytes + parts->dynamic->p_offset);
}

static Elf64_Dyn *entry(struct parts *parts, Elf64_Sxword tag)
{
	Elf64_Dyn *dyn = parts->dyn;

	while (dyn->d_tag != tag)
		dyn++;
	return dyn;
}

#define DAMAGE(name, statement)                                                                    \
	static void name(struct parts *p)                                                          \
	{                                                                                          \
		statement;                                                                         \
	}

DAMAGE(class_32, p->ehdr->e_ident[EI_CLASS] = ELFCLASS32; p->ehdr->e_machine = EM_386)
DAMAGE(class_x32, p->ehdr->e_ident[EI_CLASS] = ELFCLASS32)
DAMAGE(class_9, p->ehdr->e_ident[EI_CLASS] = 9)
DAMAGE(big_endian, p->ehdr->e_ident[EI_DATA] = ELFDATA2MSB; p->ehdr->e_machine = EM_S390 << 8)
DAMAGE(data_9, p->ehdr->e_ident[EI_DATA] = 9)
DAMAGE(version_9, p->ehdr->e_ident[EI_VERSION] = 9)
DAMAGE(machine_riscv, p->ehdr->e_machine = EM_RISCV)
DAMAGE(machine_mips, p->ehdr->e_machine = EM_MIPS)
DAMAGE(machine_999, p->ehdr->e_machine = 999)
DAMAGE(type_rel, p->ehdr->e_type = ET_REL)
DAMAGE(type_core, p->ehdr->e_type = ET_CORE)
DAMAGE(type_none, p->ehdr->e_type = ET_NONE)
DAMAGE(type_lo, p->ehdr->e_type = ET_LOOS)
DAMAGE(phoff_far, p->ehdr->e_phoff = UINT64_MAX - 8)
DAMAGE(phoff_end, p->ehdr->e_phoff = p->length - 8)
DAMAGE(phentsize, p->ehdr->e_phentsize = 32)
DAMAGE(phnum_most, p->ehdr->e_phnum = 0xffff)
DAMAGE(phnum_none, p->ehdr->e_phnum = 0)
DAMAGE(no_code, p->code->p_flags = PF_R)
DAMAGE(code_empty, p->code->p_filesz = 0)
DAMAGE(code_beyond, p->code->p_offset = p->length)
DAMAGE(code_far, p->code->p_offset = UINT64_MAX - 100)
DAMAGE(filesz_far, p->code->p_filesz = p->code->p_memsz = UINT64_MAX)
DAMAGE(memsz_less, p->load->p_memsz = p->load->p_filesz - 1)
DAMAGE(vaddr_wraps, p->load->p_vaddr = UINT64_MAX - 10)
DAMAGE(shoff_far, p->ehdr->e_shoff = UINT64_MAX - 64)
DAMAGE(shoff_end, p->ehdr->e_shoff = p->length - 10)
DAMAGE(shentsize, p->ehdr->e_shentsize = 0)
DAMAGE(shnum_huge, p->ehdr->e_shnum = 0; p->shdr[0].sh_size = UINT64_MAX / 2)
DAMAGE(symtab_huge, p->symtab->sh_size = UINT64_C(1) << 63)
DAMAGE(symtab_wraps, p->symtab->sh_offset = UINT64_MAX - 24)
DAMAGE(symtab_beyond, p->symtab->sh_size += p->length)
DAMAGE(entsize_0, p->symtab->sh_entsize = 0)
DAMAGE(entsize_odd, p->symtab->sh_entsize = 23)
DAMAGE(link_wild, p->symtab->sh_link = 60000)
DAMAGE(link_to_code, p->symtab->sh_link = 1)
DAMAGE(strtab_far, p->strtab->sh_offset = p->length + 1)
DAMAGE(strtab_huge, p->strtab->sh_size = UINT64_MAX - 3)
DAMAGE(dynamic_far, p->dynamic->p_offset = UINT64_MAX - 15)
DAMAGE(dynamic_huge, p->dynamic->p_filesz = UINT64_C(1) << 62)
DAMAGE(dynstr_far, entry(p, DT_STRTAB)->d_un.d_ptr = UINT64_MAX - 1)
DAMAGE(dynstr_huge, entry(p, DT_STRSZ)->d_un.d_val = UINT64_C(1) << 60)
DAMAGE(dynsym_far, entry(p, DT_SYMTAB)->d_un.d_ptr = UINT64_C(1) << 50)
DAMAGE(dynsym_huge, p->dynsym->sh_size = UINT64_C(1) << 40)

static const struct {
	const char *name;
	void (*damage)(struct parts *parts);
	enum reason reason;
	const char *says;
} damages[] = {
	{"class_32", class_32, REASON_WRONG_MACHINE, "32-bit little-endian file for i386"},
	{"class_x32", class_x32, REASON_WRONG_MACHINE, "32-bit"},
	{"class_9", class_9, REASON_BAD_ELF, "class 9"},
	{"big_endian", big_endian, REASON_WRONG_MACHINE, "big-endian"},
	{"data_9", data_9, REASON_BAD_ELF, "byte order 9"},
	{"version_9", version_9, REASON_BAD_ELF, "version 9"},
	{"machine_riscv", machine_riscv, REASON_WRONG_MACHINE, "for riscv"},
	{"machine_mips", machine_mips, REASON_WRONG_MACHINE, "for mips"},
	{"machine_999", machine_999, REASON_WRONG_MACHINE, "machine number 999"},
	{"type_rel", type_rel, REASON_NOT_ELF, "object file"},
	{"type_core", type_core, REASON_NOT_ELF, "core dump"},
	{"type_none", type_none, REASON_BAD_ELF, "unknown ELF type"},
	{"type_lo", type_lo, REASON_BAD_ELF, "unknown ELF type"},
	{"phoff_far", phoff_far, REASON_BAD_ELF, "program headers"},
	{"phoff_end", phoff_end, REASON_BAD_ELF, "program headers"},
	{"phentsize", phentsize, REASON_BAD_ELF, "program headers"},
	{"phnum_most", phnum_most, REASON_BAD_ELF, "program headers"},
	{"phnum_none", phnum_none, REASON_NOT_ELF, "no executable"},
	{"no_code", no_code, REASON_NOT_ELF, "no executable"},
	{"code_empty", code_empty, REASON_NOT_ELF, "no executable"},
	{"code_beyond", code_beyond, REASON_BAD_ELF, "segment"},
	{"code_far", code_far, REASON_BAD_ELF, "segment"},
	{"filesz_far", filesz_far, REASON_BAD_ELF, "segment"},
	{"memsz_less", memsz_less, REASON_BAD_ELF, "impossible size"},
	{"vaddr_wraps", vaddr_wraps, REASON_BAD_ELF, "impossible size"},
	{"shoff_far", shoff_far, REASON_BAD_ELF, "section headers"},
	{"shoff_end", shoff_end, REASON_BAD_ELF, "section headers"},
	{"shentsize", shentsize, REASON_BAD_ELF, "section headers"},
	{"shnum_huge", shnum_huge, REASON_BAD_ELF, "too many sections"},
	{"symtab_huge", symtab_huge, REASON_BAD_ELF, "symbol table"},
	{"symtab_wraps", symtab_wraps, REASON_BAD_ELF, "symbol table"},
	{"symtab_beyond", symtab_beyond, REASON_BAD_ELF, "symbol table"},
	{"entsize_0", entsize_0, REASON_BAD_ELF, "impossible size"},
	{"entsize_odd", entsize_odd, REASON_BAD_ELF, "impossible size"},
	{"link_wild", link_wild, REASON_BAD_ELF, "no names"},
	{"link_to_code", link_to_code, REASON_BAD_ELF, "names"},
	{"strtab_far", strtab_far, REASON_BAD_ELF, "names"},
	{"strtab_huge", strtab_huge, REASON_BAD_ELF, "names"},
	{"dynamic_far", dynamic_far, REASON_BAD_ELF, "dynamic segment"},
	{"dynamic_huge", dynamic_huge, REASON_BAD_ELF, "dynamic segment"},
	{"dynstr_far", dynstr_far, REASON_BAD_ELF, "dynamic string table"},
	{"dynstr_huge", dynstr_huge, REASON_BAD_ELF, "dynamic string table"},
	{"dynsym_far", dynsym_far, REASON_BAD_ELF, "dynamic symbol table"},
	{"dynsym_huge", dynsym_huge, REASON_BAD_ELF, "dynamic symbol table"},
};

static void damaged_files_say_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(damages); i++) {
		struct parts parts = {0};
		parts.bytes = read_right(&parts.length);
		find_parts(&parts);
		damages[i].damage(&parts);
		write_file(path_of(damages[i].name), parts.bytes, parts.length);
		free(parts.bytes);
		EXPECT(path_of(damages[i].name), "first", EXIT_AUTO, damages[i].reason,
		       damages[i].says, folder);
	}
}

static void separate_debug_files_are_told(void **state)
{
	(void)state;
	EXPECT(ELF_DIR "plain.debug", "first", EXIT_AUTO, REASON_NOT_ELF, "debug file");
	EXPECT(ELF_DIR "evidence.o", "victim", EXIT_AUTO, REASON_NOT_ELF, "object file");
}

/* Cut anywhere, the file is bad; it never resolves, as its section headers are at the end. */
static void files_cut_short_are_refused(void **state)
{
	size_t length;
	unsigned char *bytes = read_right(&length);

	(void)state;
	for (size_t cut = 64; cut < length; cut += length / 61) {
		write_file(path_of("cut"), bytes, cut);
		EXPECT(path_of("cut"), "first", EXIT_AUTO, REASON_BAD_ELF);
	}
	free(bytes);
}

/* Bytes flipped at random in the headers and tables: any answer, but no crash. */
static void scrambled_files_are_survived(void **state)
{
	size_t length;
	unsigned char *bytes = read_right(&length), *copy = malloc(length);
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct one one;
		memcpy(copy, bytes, length);
		for (int i = 0; i < 12; i++) {
			size_t at = (size_t)rand_r(&seed) % length;
			if (i < 8) /* the headers at either end */
				at = i & 1 ? (size_t)rand_r(&seed) % 1024
					   : length - 1 - (size_t)rand_r(&seed) % 2048;
			copy[at] = (unsigned char)rand_r(&seed);
		}
		write_file(path_of("scrambled"), copy, length);
		one_resolve(&one, path_of("scrambled"), "first", EXIT_AUTO, 0, HOST_COST_ALLOW);
		assert_true(one.probe->reason < REASON_COUNT);
		assert_true(one.probe->reason == REASON_NONE || *one.probe->detail);
		one_free(&one);
	}
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_not_elf),
		cmocka_unit_test(things_that_are_not_files),
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(files_that_may_not_be_read),
		cmocka_unit_test(odd_names_work),
		cmocka_unit_test(damaged_files_say_what_is_wrong),
		cmocka_unit_test(separate_debug_files_are_told),
		cmocka_unit_test(files_cut_short_are_refused),
		cmocka_unit_test(scrambled_files_are_survived),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
