/* USDT notes of programs that were linked in every way. */
#include "sdts.h"

#include <elf.h>

#ifdef __x86_64__
static void read_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || sdt_read(&sdt, fd, &arena, &err))
		fail_msg("%s: %s", path, err.msg);
	close(fd);
}

static const char *const linked[] = {"sdt.pie",	       "sdt.nopie",  "sdt.static",
				     "sdt.onesegment", "sdt.gold",   "sdt.stripped",
				     "sdt.lld",	       "sdt.nobase", "lib/libsdt.so"};

/* The offset of a function, by nm: sites of sdt.c stand at the start of theirs, or 1 after. */
static uint64_t offset_of(const char *path, const char *function)
{
	struct one one;

	one_resolve(&one, path, function, EXIT_NONE, 0, HOST_COST_ALLOW);
	uint64_t offset = one.probe->symbol_offset;
	if (one.probe->reason)
		fail_msg("%s: %s", path, one.probe->detail);
	one_free(&one);
	return offset;
}

static void sites_are_where_the_code_is(void **state)
{
	static const char *const functions[] = {"plain",   "with_semaphore", "twice",
						"differs", "symbols",	     "before_nop5"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(linked); i++) {
		char path[128], probe[64];
		snprintf(path, sizeof(path), ELF_DIR "%s", linked[i]);
		if (access(path, R_OK))
			continue; /* built only where there is this linker */
		read_path(path);
		assert_true(sdt.has_notes);
		assert_null(sdt.damage);
		assert_int_equal(sdt.n, 22);
		for (size_t j = 0; j < N_ITEMS(functions); j++) {
			snprintf(probe, sizeof(probe), "test:%s", functions[j]);
			expect_right(probe);
			if (!strcmp(linked[i], "sdt.stripped"))
				continue;
			uint64_t at = offset_of(path, functions[j]);
			/* Exactly on the nop, never on what follows it; endbr64 may go before. */
			assert_in_range(only(probe)->offset, at, at + 4);
		}
	}
}

static void semaphores_are_places_in_the_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(linked); i++) {
		char path[128];
		uint16_t value = 1;
		snprintf(path, sizeof(path), ELF_DIR "%s", linked[i]);
		if (access(path, R_OK))
			continue;
		read_path(path);
		const struct sdt_site *site = only("test:with_semaphore");
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(site->semaphore > site->offset);
		assert_int_equal(site->semaphore % 2, 0);
		assert_int_equal(pread(fd, &value, 2, (off_t)site->semaphore), 2);
		assert_int_equal(value, 0);
		close(fd);
		assert_int_equal(only("test:plain")->semaphore, 0);
		expect_problem("test:bss", REASON_BAD_ELF, "only in memory");
		expect_problem("test:constant", REASON_BAD_ELF, "not in writable memory");
		expect_problem("test:odd", REASON_BAD_ELF, "odd place");
	}
}

/* One name in three places: three sites, each with its own arguments and semaphore. */
static void one_name_may_have_several_sites(void **state)
{
	struct sdtarg arg;
	size_t n, constants = 0, registers = 0, memory = 0;

	(void)state;
	read_path(ELF_DIR "sdt.pie");
	const struct sdt_site *site = sdt_find(&sdt, "test:three", &n);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(sdt_args(&sdt, &site[i], &arg, 1), 1);
		constants += arg.arg.kind == UP_ARG_CONSTANT;
		registers += arg.arg.kind == UP_ARG_REGISTER;
		memory += arg.arg.kind == UP_ARG_MEMORY;
		assert_true(!i || site[i].offset > site[i - 1].offset);
		assert_true((arg.arg.kind == UP_ARG_REGISTER) !=
			    (site[i].semaphore == only("test:with_semaphore")->semaphore));
		assert_int_not_equal(site[i].semaphore, 0);
	}
	assert_int_equal(constants, 1);
	assert_int_equal(registers, 1);
	assert_int_equal(memory, 1);
	/* Two providers with one name. */
	assert_true(only("test:plain")->offset != only("other:plain")->offset);
	assert_null(sdt_find(&sdt, "test:thre", &n));
	assert_null(sdt_find(&sdt, "tes:three", &n));
	assert_null(sdt_find(&sdt, "three", &n));
	assert_null(sdt_find(&sdt, "", &n));
	assert_int_equal(n, 0);
}

static void equal_notes_are_one_site(void **state)
{
	(void)state;
	read_path(ELF_DIR "sdt.pie");
	expect_right("test:twice");
	assert_string_equal(only("test:twice")->args, "8@%rdi");
	assert_null(only("test:twice")->remark);
	/* Where they differ, no argument is believed, and no semaphore. */
	expect_right("test:differs");
	assert_string_equal(only("test:differs")->args, "");
	assert_non_null(strstr(only("test:differs")->remark, "different arguments"));
	expect_problem("test:torn", REASON_BAD_ELF, "different semaphores");
}

static void instructions_are_judged(void **state)
{
	(void)state;
	read_path(ELF_DIR "sdt.nopie");
	expect_right("test:stepped");
	assert_non_null(strstr(only("test:stepped")->remark, "single-stepped"));
	expect_right("test:emulated");
	assert_non_null(strstr(only("test:emulated")->remark, "push"));
	expect_right("test:before_nop5");
	assert_null(only("test:before_nop5")->remark);
	expect_problem("test:nop5", REASON_UNSAFE_SITE, "five-byte nop");
	expect_problem("test:locked", REASON_KERNEL_REFUSED, "lock");
	expect_problem("test:in_data", REASON_NOT_AN_INSTRUCTION, "not in the file's code");
	expect_problem("test:inside", REASON_NOT_AN_INSTRUCTION, "inside an instruction");
	/* By frame information alone, and by symbols alone. */
	read_path(ELF_DIR "sdt.stripped");
	expect_problem("test:inside", REASON_NOT_AN_INSTRUCTION, "inside an instruction");
	read_path(ELF_DIR "sdt.static");
	expect_problem("test:inside", REASON_NOT_AN_INSTRUCTION, "inside an instruction");
}

/* The value that a program with the variable `counter` = 41 has there, as the file has it. */
static void expect_counter(const char *path, const struct sdt_site *site, const struct up_arg *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t offset = 0;
	Elf64_Ehdr ehdr;
	int32_t value = 0;

	assert_int_equal(arg->kind, UP_ARG_MEMORY);
	assert_int_equal(arg->base, 128); /* rip */
	assert_int_equal(arg->index, UP_ARG_NO_REGISTER);
	assert_int_equal(pread(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	for (uint16_t i = 0; i < ehdr.e_phnum; i++) {
		Elf64_Phdr p;
		uint64_t address = site->address + (uint64_t)arg->value;
		pread(fd, &p, sizeof(p), (off_t)(ehdr.e_phoff + i * sizeof(p)));
		if (p.p_type == PT_LOAD && address - p.p_vaddr < p.p_filesz)
			offset = address - p.p_vaddr + p.p_offset;
	}
	assert_int_equal(pread(fd, &value, sizeof(value), (off_t)offset), sizeof(value));
	assert_int_equal(value, 41);
	close(fd);
}

static void symbols_are_found_from_the_site(void **state)
{
	static const char *const files[] = {ELF_DIR "sdt.pie", ELF_DIR "sdt.nopie",
					    ELF_DIR "sdt.static", ELF_DIR "sdt.onesegment"};
	struct sdtarg args[9];

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		read_path(files[i]);
		const struct sdt_site *site = only("test:symbols");
		assert_int_equal(sdt_args(&sdt, site, args, 9), 9);
		expect_counter(files[i], site, &args[0].arg);
		assert_non_null(strstr(args[1].problem, "twin is the name of several"));
		assert_int_equal(args[2].arg.value, args[0].arg.value + 4);
		assert_non_null(strstr(args[3].problem, "thread-local"));
		if (i != 2) /* a static program has its own printf */
			assert_non_null(strstr(args[4].problem, "in another file"));
		assert_non_null(strstr(args[5].problem, "nowhere is not among"));
		if (i == 1 || i == 2)
			assert_int_equal(args[6].arg.kind, UP_ARG_CONSTANT);
		else
			assert_non_null(strstr(args[6].problem, "where the file is loaded"));
		expect_counter(files[i], site, &args[7].arg);
		assert_int_equal(args[8].arg.value, 7);
		assert_null(site->problem);
	}
	read_path(ELF_DIR "sdt.stripped");
	sdt_args(&sdt, only("test:symbols"), args, 9);
	assert_non_null(strstr(args[0].problem, "counter is not among"));
	assert_int_equal(args[8].arg.kind, UP_ARG_CONSTANT);
}

static void more_than_twelve_arguments(void **state)
{
	struct sdtarg args[SDTARG_MOST];

	(void)state;
	read_path(ELF_DIR "sdt.pie");
	assert_int_equal(sdt_args(&sdt, only("test:many"), args, SDTARG_MOST), 14);
	for (int i = 0; i < 14; i++)
		assert_int_equal(args[i].arg.value, i + 1);
}

static void files_without_notes(void **state)
{
	size_t n;

	(void)state;
	read_path(ELF_DIR "sdt.nonotes");
	assert_false(sdt.has_notes);
	assert_null(sdt.damage);
	assert_int_equal(sdt.n, 0);
	assert_null(sdt_find(&sdt, "test:plain", &n));
}
#endif

static void other_files_are_refused(void **state)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(sdt_read(&sdt, fd, &arena, &err) < 0);
	assert_int_equal(err.reason, REASON_NOT_ELF);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		TEST(sites_are_where_the_code_is),     TEST(semaphores_are_places_in_the_file),
		TEST(one_name_may_have_several_sites), TEST(equal_notes_are_one_site),
		TEST(instructions_are_judged),	       TEST(symbols_are_found_from_the_site),
		TEST(more_than_twelve_arguments),      TEST(files_without_notes),
#endif
		TEST(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
