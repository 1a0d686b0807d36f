/* What is told about a USDT site that is not there. */
#include "common.h"

#include <fcntl.h>

#include "target/sdtmissing.h"

#ifdef __x86_64__
static void expect(const char *path, const char *probe, const char *text)
{
	struct arena arena;
	struct sdt sdt;
	struct err err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *told;

	arena_init(&arena);
	if (fd < 0 || sdt_read(&sdt, fd, &arena, &err))
		fail_msg("%s: %s", path, err.msg);
	told = sdtmissing_text(&sdt, fd, path, probe, &arena);
	if (strcmp(told, text) != 0)
		fail_msg("%s in %s: \"%s\", not \"%s\"", probe, path, told, text);
	arena_fini(&arena);
	close(fd);
}

static void near_names_are_told(void **state)
{
	(void)state;
	expect(ELF_DIR "sdt.pie", "test:with_semaphor",
	       "has no USDT site test:with_semaphor; did you mean test:with_semaphore?");
	expect(ELF_DIR "sdt.pie", "TEST:THREE",
	       "has no USDT site TEST:THREE; did you mean test:three?");
}

static void other_providers_are_told(void **state)
{
	(void)state;
	expect(ELF_DIR "sdt.pie", "tst:plain",
	       "has no USDT site tst:plain; it has other:plain, test:plain");
	expect(ELF_DIR "sdt.pie", "with_semaphore",
	       "has no USDT site with_semaphore; it has test:with_semaphore");
	expect(ELF_DIR "sdt.pie", "test:before-nop5",
	       "has no USDT site test:before-nop5; did you mean test:before_nop5?");
	expect(ELF_DIR "sdt.pie", "other:something_else",
	       "has no USDT site other:something_else; that provider has plain");
	expect(ELF_DIR "sdt.pie", "test:something_else_altogether",
	       "has no USDT site test:something_else_altogether; that provider has before_nop5, "
	       "bss, constant, differs, emulated and 13 more");
	expect(ELF_DIR "sdt.pie", "nobody:nothing", "has no USDT site nobody:nothing");
}

static void functions_are_told(void **state)
{
	(void)state;
	expect(ELF_DIR "sdt.pie", "libc:three_a",
	       "has no USDT site libc:three_a; it has a function three_a, which goes under "
	       "`functions:`");
	expect(ELF_DIR "plain.pie", "x:first",
	       "has no USDT sites (no stapsdt notes); it has a function first, which goes under "
	       "`functions:`");
	expect(ELF_DIR "sdt.pie", "test:three_a",
	       "has no USDT site test:three_a; it has a function three_a, which goes under "
	       "`functions:`; did you mean test:three?");
	/* Data is no function, nor is what another file has. */
	expect(ELF_DIR "sdt.pie", "libc:counter", "has no USDT site libc:counter");
}

static void libraries_are_told(void **state)
{
	char library[4200], text[8400];

	(void)state;
	assert_non_null(realpath(ELF_DIR "lib/libsdt.so", library));
	snprintf(text, sizeof(text),
		 "has no USDT sites (no stapsdt notes); %s has it, which this file needs: name "
		 "that as the binary",
		 library);
	expect(ELF_DIR "sdt_app", "test:three", text);
	expect(ELF_DIR "sdt_app", "test:nothing", "has no USDT sites (no stapsdt notes)");
	/* Not a library that nobody needs. */
	expect(ELF_DIR "plain.pie", "test:three", "has no USDT sites (no stapsdt notes)");
}

static void files_without_notes_say_so(void **state)
{
	(void)state;
	expect(ELF_DIR "sdt.nonotes", "test:nothing", "has no USDT sites (no stapsdt notes)");
	expect(ELF_DIR "sdt.nonotes", "", "has no USDT sites (no stapsdt notes)");
	expect(ELF_DIR "sdt.nonotes", ":", "has no USDT sites (no stapsdt notes)");
}
#endif

/* Names are anybody's: long, and of any bytes. */
static void names_are_bounded(void **state)
{
	static char probe[100000];
	struct arena arena;
	struct sdt sdt = {.has_notes = true};

	(void)state;
	memset(probe, 'x', sizeof(probe) - 1);
	arena_init(&arena);
	assert_true(strlen(sdtmissing_text(&sdt, -1, "/", probe, &arena)) < 1000);
	sdt.damage = "its notes are cut short";
	assert_string_equal(sdtmissing_text(&sdt, -1, "/", "a:b", &arena),
			    "has no USDT site a:b (its notes are cut short)");
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(near_names_are_told),
		cmocka_unit_test(other_providers_are_told),
		cmocka_unit_test(functions_are_told),
		cmocka_unit_test(libraries_are_told),
		cmocka_unit_test(files_without_notes_say_so),
#endif
		cmocka_unit_test(names_are_bounded),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
