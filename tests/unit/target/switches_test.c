/* Stack switches in a file: in functions that its frame information knows, and elsewhere. */
#include "tests/unit/target/framed.h"

#include "target/switches.h"

/* The answer for a file, with `size` bytes put at `at`. */
static void expect(size_t at, const void *bytes, size_t size, const char *why)
{
	unsigned char file[ALL];
	struct image image;
	struct strbuf text;

	make_file(file);
	memcpy(file + at, bytes, size);
	open_bytes(&image, file);
	strbuf_init(&text);
	bool found = switches_find(&image, NULL, false, &text);
	if (found != (why != NULL) || !strstr(strbuf_text(&text), why ? why : ""))
		fail_msg("\"%s\" does not say \"%s\"", strbuf_text(&text), why ? why : "");
	strbuf_fini(&text);
	close_bytes(&image);
}

static const unsigned char loads[] = {0x48, 0x8b, 0x26, 0xc3}; /* mov (%rsi),%rsp; ret */

static void a_file_without_any(void **state)
{
	(void)state;
	expect(0, "", 0, NULL);
}

static void in_a_function(void **state)
{
	(void)state;
	expect(FUNCTION, loads, sizeof(loads), "code at 0x500 takes up another stack (mov (%rsi)");
}

static void where_no_function_is_known(void **state)
{
	(void)state;
	expect(0x700, loads, sizeof(loads), "code at 0x700 seems to");
	expect(ALL - sizeof(loads), loads, sizeof(loads), "code at 0x7fc seems to");
}

static void in_the_middle_of_an_instruction(void **state)
{
	/* movabs $0x…268b48…,%rax; ret */
	static const unsigned char constant[] = {0x48, 0xb8, 0x48, 0x8b, 0x26, 0x90,
						 0x90, 0x90, 0x90, 0x90, 0xc3};

	(void)state;
	expect(FUNCTION, constant, sizeof(constant), NULL);
}

/* pop %rbx; ret; then, where no path leads, mov (%rsi),%rsp; ret */
static void where_no_path_leads(void **state)
{
	static const unsigned char behind[] = {0x5b, 0xc3, 0x48, 0x8b, 0x26, 0xc3};

	(void)state;
	expect(FUNCTION, behind, sizeof(behind), "is not understood");
}

/* Headers that show the same bytes over and over do not make it look at them for ever. */
static void ranges_that_overlap(void **state)
{
	static unsigned char file[ALL];
	struct image image;
	struct strbuf text;

	(void)state;
	make_file(file);
	open_bytes(&image, file);
	Elf64_Phdr all[64];
	for (size_t i = 0; i < 64; i++)
		all[i] = image.phdr[0];
	Elf64_Phdr *own = image.phdr;
	size_t n = image.n_phdr;
	image.phdr = all;
	image.n_phdr = 64;
	strbuf_init(&text);
	assert_true(switches_find(&image, NULL, false, &text));
	assert_string_equal(strbuf_text(&text), "its code is in ranges that overlap");
	strbuf_fini(&text);
	image.phdr = own;
	image.n_phdr = n;
	close_bytes(&image);
}

/* It is not read at all: a file with a hole has any size that it likes. */
static void more_code_than_is_searched(void **state)
{
	unsigned char file[ALL];
	struct image image;
	struct strbuf text;

	(void)state;
	make_file(file);
	open_bytes(&image, file);
	image.size = UINT64_C(1) << 50;
	image.phdr[0].p_filesz = SWITCHES_MOST_CODE + 1;
	strbuf_init(&text);
	assert_true(switches_find(&image, NULL, false, &text));
	assert_string_equal(strbuf_text(&text),
			    "it has more code than is searched for stack switches");
	strbuf_fini(&text);
	close_bytes(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_any),
		cmocka_unit_test(in_a_function),
		cmocka_unit_test(where_no_function_is_known),
		cmocka_unit_test(in_the_middle_of_an_instruction),
		cmocka_unit_test(where_no_path_leads),
		cmocka_unit_test(ranges_that_overlap),
		cmocka_unit_test(more_code_than_is_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
