/* Files that are not what a config wanted, told apart by their first bytes. */
#include "target/magic.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
enum { THIS_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { THIS_MACHINE = EM_AARCH64 };
#else
#error "no machine table for this architecture"
#endif

static const struct {
	const char *bytes;
	size_t length;
	const char *what;
} kinds[] = {
	{"!<arch>\n", 8, "an archive of object files (.a): name the program it is linked into"},
	{"!<thin>\n", 8, "a thin archive of object files"},
	{"/* GNU ld script", 16, "a linker script, not the library itself"},
	{"MZ", 2, "a Windows program"},
	{"\xfe\xed\xfa\xcf", 4, "a Mach-O file"},
	{"\xcf\xfa\xed\xfe", 4, "a Mach-O file"},
	{"\xca\xfe\xba\xbe", 4, "a Java class or Mach-O file"},
	{"\0asm", 4, "a WebAssembly module"},
	{"BC\xc0\xde", 4, "LLVM bitcode"},
	{"\x1f\x8b", 2, "a gzip file"},
	{"\xfd"
	 "7zXZ",
	 5, "an xz file"},
	{"\x28\xb5\x2f\xfd", 4, "a zstd file"},
	{"PK\x03\x04", 4, "a zip or jar file"},
};

static const struct {
	uint16_t machine;
	const char *name;
} machines[] = {
	{EM_386, "i386"},	 {EM_X86_64, "x86-64"},	  {EM_ARM, "arm"},
	{EM_AARCH64, "arm64"},	 {EM_RISCV, "riscv"},	  {EM_PPC, "powerpc"},
	{EM_PPC64, "powerpc64"}, {EM_S390, "s390"},	  {EM_MIPS, "mips"},
	{EM_SPARC, "sparc"},	 {EM_SPARCV9, "sparc64"}, {EM_LOONGARCH, "loongarch"},
	{EM_IA_64, "ia64"},	 {EM_68K, "m68k"},	  {EM_BPF, "bpf"},
	{EM_PARISC, "hppa"},	 {EM_SH, "sh"},		  {EM_ALPHA, "alpha"},
	{EM_CUDA, "cuda"},
};

static int not_elf(struct err *err, const char *what)
{
	return err_set(err, -ENOEXEC, REASON_NOT_ELF, "is %s", what);
}

static int script(const unsigned char *bytes, size_t length, struct err *err)
{
	char line[80];
	size_t n = 0;

	while (n < length && n < sizeof(line) - 1 && bytes[n] != '\n' && bytes[n] != '\0') {
		line[n] = isprint(bytes[n]) ? (char)bytes[n] : '?';
		n++;
	}
	line[n] = '\0';
	return err_set(err, -ENOEXEC, REASON_NOT_ELF,
		       "is a script (%s): name the interpreter's own file to probe it", line);
}

static bool is_text(const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] < 0x80 && !isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return true;
}

static int other_file(const unsigned char *bytes, size_t length, struct err *err)
{
	char start[64];

	if (length == 0)
		return not_elf(err, "empty");
	if (length >= 2 && memcmp(bytes, "#!", 2) == 0)
		return script(bytes, length, err);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (length >= kinds[i].length &&
		    memcmp(bytes, kinds[i].bytes, kinds[i].length) == 0)
			return not_elf(err, kinds[i].what);
	if (is_text(bytes, length))
		return not_elf(err, "a text file, not a program or library");
	int n = 0;
	for (size_t i = 0; i < length && i < 4; i++)
		n += snprintf(start + n, sizeof(start) - (size_t)n, " %02x", bytes[i]);
	return err_set(err, -ENOEXEC, REASON_NOT_ELF, "is not an ELF file (it starts with%s)",
		       start);
}

static const char *machine_name(uint16_t machine, char *room, size_t size)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	snprintf(room, size, "machine number %u", machine);
	return room;
}

int magic_check(const unsigned char *bytes, size_t length, struct err *err)
{
	char room[32], here_room[32];

	if (length < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return other_file(bytes, length, err);
	if (length < 20)
		return err_set(err, -ENOEXEC, REASON_BAD_ELF,
			       "is cut short: %zu bytes are no ELF header", length);
	bool narrow = bytes[EI_CLASS] == ELFCLASS32, big = bytes[EI_DATA] == ELFDATA2MSB;
	if (!narrow && bytes[EI_CLASS] != ELFCLASS64)
		return err_set(err, -ENOEXEC, REASON_BAD_ELF, "has the unknown ELF class %u",
			       bytes[EI_CLASS]);
	if (!big && bytes[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -ENOEXEC, REASON_BAD_ELF, "has the unknown byte order %u",
			       bytes[EI_DATA]);
	uint16_t machine =
		(uint16_t)(big ? bytes[18] << 8 | bytes[19] : bytes[19] << 8 | bytes[18]);
	if (narrow || big || machine != THIS_MACHINE)
		return err_set(err, -ENOEXEC, REASON_WRONG_MACHINE,
			       "is a %s-bit %s-endian file for %s; only 64-bit files for %s, this "
			       "machine, can be probed",
			       narrow ? "32" : "64", big ? "big" : "little",
			       machine_name(machine, room, sizeof(room)),
			       machine_name(THIS_MACHINE, here_room, sizeof(here_room)));
	if (bytes[EI_VERSION] != EV_CURRENT)
		return err_set(err, -ENOEXEC, REASON_BAD_ELF, "has the unknown ELF version %u",
			       bytes[EI_VERSION]);
	return 0;
}
