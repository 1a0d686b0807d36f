/*
 * A file with a million long names: resolved within a small, measured amount of memory. And the
 * string table's cache on its own.
 */
#include "common.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "target/list.h"
#include "target/strings.h"
#include "target/symbols.h"

/* Freed memory goes back at once, so that what is measured is what the program holds. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
}

enum { MANY = 1000000, NAME_BYTES = 120 };

static char big[64];

/* A static program's headers, a page of code, MANY symbols of it, and their names. */
static int write_big(void **state)
{
	enum { CODE = 0x1000, SYMBOLS = 0x2000 };
	uint64_t symbols_size = (uint64_t)(MANY + 1) * sizeof(Elf64_Sym);
	uint64_t names_at = SYMBOLS + symbols_size, names_size = 1 + (uint64_t)MANY * NAME_BYTES;
	Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
#ifdef __aarch64__
			   .e_machine = EM_AARCH64,
#else
			   .e_machine = EM_X86_64,
#endif
			   .e_version = 1,
			   .e_entry = 0x401000,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_shoff = names_at + names_size,
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3};
	Elf64_Phdr phdr = {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_offset = CODE,
			   .p_vaddr = 0x401000,
			   .p_filesz = 0x1000,
			   .p_memsz = 0x1000,
			   .p_align = 0x1000};
	Elf64_Shdr shdr[3] = {
		{0},
		{.sh_type = SHT_SYMTAB,
		 .sh_offset = SYMBOLS,
		 .sh_size = symbols_size,
		 .sh_link = 2,
		 .sh_entsize = sizeof(Elf64_Sym)},
		{.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names_size}};

	if (build_victims(state))
		return 1;
	snprintf(big, sizeof(big), ELF_DIR "big.%d", (int)getpid());
	FILE *file = fopen(big, "w");
	if (!file)
		return 1;
	fwrite(&ehdr, sizeof(ehdr), 1, file);
	fwrite(&phdr, sizeof(phdr), 1, file);
	fseek(file, CODE, SEEK_SET);
	for (uint32_t i = 0; i < 0x1000; i++)
		fputc(0xc3, file); /* x86-64: ret */
	fseek(file, SYMBOLS + sizeof(Elf64_Sym), SEEK_SET);
	for (uint32_t i = 0; i < MANY; i++) {
		/* Names in an order of their own, so that reading jumps about. */
		uint32_t place = (uint32_t)((uint64_t)i * 7919 % MANY);
		Elf64_Sym symbol = {.st_name = 1 + place * NAME_BYTES,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_value = 0x401000 + i % 0x1000,
				    .st_size = 1};
		fwrite(&symbol, sizeof(symbol), 1, file);
	}
	fputc(0, file);
	for (uint32_t i = 0; i < MANY; i++)
		fprintf(file, "function_%0*u%c", NAME_BYTES - 10, i, 0);
	fwrite(shdr, sizeof(shdr), 1, file);
	return fclose(file);
}

static int remove_big(void **state)
{
	(void)state;
	return unlink(big);
}

static long peak_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), status))
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(status);
	return kib;
}

/* Run in a child, so that the peak is of this work alone; 0 when within the limit. */
static int within(long limit_kib, double limit_seconds, void (*work)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct timespec from, to;
		FILE *reset = fopen("/proc/self/clear_refs", "w"); /* "5" resets VmHWM */
		if (reset) {
			fputs("5", reset);
			fclose(reset);
		}
		long before = peak_kib();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from); /* others may have the machine */
		work();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		double seconds = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
		printf("%ld KiB, %.2f s\n", peak_kib() - before, seconds);
		fflush(stdout);
		_exit(peak_kib() - before > limit_kib || seconds > limit_seconds);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void resolve_big(void)
{
	static char names[3][NAME_BYTES + 8];
	struct one one;

	snprintf(names[0], sizeof(names[0]), "function_%0*u", NAME_BYTES - 10, 765432);
	one_resolve(&one, big, names[0], EXIT_AUTO, 0, HOST_COST_REFUSE);
	if (one.probe->reason)
		_exit(2);
	one_free(&one);
	snprintf(names[1], sizeof(names[1]), "funktion_%0*u", NAME_BYTES - 10, 765432);
	one_resolve(&one, big, names[1], EXIT_AUTO, 0, HOST_COST_REFUSE);
	if (one.probe->reason != REASON_SYMBOL_NOT_FOUND ||
	    !strstr(one.probe->detail, "did you mean"))
		_exit(3);
	one_free(&one);
}

static void count(void *context, const struct list_file *file, const struct list_function *function)
{
	(void)file;
	*(size_t *)context += function->n_names + function->n_more_names;
}

static void list_big(void)
{
	struct list_file file;
	struct arena arena;
	struct err err;
	size_t names = 0;

	arena_init(&arena);
	if (list_functions(big, NULL, count, &names, &arena, &file, &err) != 0x1000 ||
	    names != MANY)
		_exit(4);
	arena_fini(&arena);
}

/*
 * 63 and 85 MiB of our own; a word more for each symbol would be 8. The sanitizers add 1 to 3, and
 * time goes up tenfold.
 */
static void a_million_symbols_fit(void **state)
{
	(void)state;
	assert_int_equal(within(70 * 1024, 60, resolve_big), 0);
	assert_int_equal(within(96 * 1024, 60, list_big), 0);
}

/* ---- strings ---- */

static void strings_of_any_length_are_found(void **state)
{
	enum { SIZE = 100000 };
	char *bytes = malloc(SIZE), path[] = "/tmp/uprobe_strings_XXXXXX";
	int fd = mkstemp(path);
	struct image image = {.fd = fd, .size = SIZE};
	struct strings strings;
	size_t length;

	(void)state;
	unlink(path);
	memset(bytes, 'a', SIZE);
	bytes[4095] = bytes[4096] = bytes[8191] = bytes[8292] = bytes[24676] = bytes[50000] = 0;
	assert_int_equal(write(fd, bytes, SIZE), SIZE);
	strings_init(&strings, &image, 0, SIZE);
	assert_int_equal(strlen(strings_get(&strings, 0, &length)), 4095);
	assert_string_equal(strings_get(&strings, 4095, &length), "");
	assert_string_equal(strings_get(&strings, 4096, &length), "");
	assert_int_equal(strlen(strings_get(&strings, 4097, &length)), 8191 - 4097);
	assert_int_equal(strlen(strings_get(&strings, 8192, &length)), 100);
	assert_int_equal(length, 100);
	assert_non_null(strings_get(&strings, 8293, &length)); /* crosses four pages */
	assert_int_equal(length, 24676 - 8293);
	assert_null(strings_get(&strings, 24677, &length));    /* too long */
	assert_null(strings_get(&strings, 50001, &length));    /* never ends */
	assert_null(strings_get(&strings, SIZE - 1, &length)); /* never ends */
	assert_null(strings_get(&strings, SIZE, &length));
	assert_null(strings_get(&strings, UINT64_MAX, &length));
	strings_fini(&strings);
	close(fd);
	free(bytes);
}

static void cold_parts_are_told(void **state)
{
	static const struct {
		const char *name;
		bool cold;
	} names[] = {{"f.cold", true},	  {"f.cold.3", true}, {"f.constprop.0.cold", true},
		     {"f.colder", false}, {".cold", false},   {"f", false},
		     {"cold", false},	  {"f.part.0", false}};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(names); i++)
		assert_int_equal(symbols_is_cold(names[i].name, strlen(names[i].name)),
				 names[i].cold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_symbols_fit),
		cmocka_unit_test(strings_of_any_length_are_found),
		cmocka_unit_test(cold_parts_are_told),
	};

	return cmocka_run_group_tests(tests, write_big, remove_big);
}
