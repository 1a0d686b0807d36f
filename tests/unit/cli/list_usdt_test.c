/* `list --usdt`: its status, and what it prints of a program that has sites of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_list.h"

#define FOLDER	"build/victims/elf/"
#define PROGRAM FOLDER "sdt.nopie"

static int build_victims(void **state)
{
	(void)state;
	return system("tests/victims/elf/build.sh build/victims/elf >&2");
}

static char *list(const char *path, const char *pattern, bool json, int *status)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*status = cmd_list(path, pattern, true, json, out);
	fclose(out);
	return text;
}

static void statuses_are_as_promised(void **state)
{
	static const struct {
		const char *path, *pattern;
		int status;
	} cases[] = {
		{PROGRAM, NULL, 0},
		{PROGRAM, "test:*", 0},
		{PROGRAM, "*:plain", 0},
		{PROGRAM, "test:three", 0},
		{PROGRAM, "test:thre", 1},
		{PROGRAM, "plain", 1},
		{PROGRAM, "no*such", 1},
		{PROGRAM, "a[", 2},
		{FOLDER "plain.pie", NULL, 1},
		{FOLDER "sdt.nonotes", "*", 1},
		{"/nonexistent", NULL, 2},
		{"/etc/passwd", NULL, 2},
		{"/tmp", NULL, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status;
		free(list(cases[i].path, cases[i].pattern, false, &status));
		assert_int_equal(status, cases[i].status);
		char *text = list(cases[i].path, cases[i].pattern, true, &status);
		assert_int_equal(status, cases[i].status);
		if (status == 1)
			assert_string_equal(text, "[]\n");
		free(text);
	}
}

/* The text with each number of the form 0x… as OFFSET: compilers choose those. */
static void expect(const char *pattern, bool json, const char *expected)
{
	char seen[4096];
	size_t n = 0;
	int status;
	char *text = list(PROGRAM, pattern, json, &status);

	for (const char *at = text; *at;) {
		bool hex = strncmp(at, "0x", 2) == 0;
		if (hex || strncmp(at, "set\":", 5) == 0 || strncmp(at, "ore\":", 5) == 0) {
			at += hex ? 0 : 5;
			at += strspn(at, hex ? "0123456789abcdefx" : "0123456789");
			n += (size_t)sprintf(seen + n, hex ? "0x" : "#");
			continue;
		}
		seen[n++] = *at++;
		assert_true(n < sizeof(seen) - 8);
	}
	seen[n] = '\0';
	free(text);
	assert_int_equal(status, 0);
	assert_string_equal(seen, expected);
}

static void text_is_as_promised(void **state)
{
	(void)state;
	expect("test:[ptw]*", false,
	       "OFFSET       SEMAPHORE    PROBE\n"
	       "0x       -            test:plain  arg1 int32_t %edi, arg2 int32_t %esi\n"
	       "0x       0x       test:three  arg1 int32_t $1\n"
	       "0x       0x       test:three  arg1 int32_t %edi\n"
	       "0x       0x       test:three  arg1 int32_t counter(%rip)\n"
	       "-            0x       test:torn\n"
	       "                          cannot be probed: its notes give it different "
	       "semaphores\n"
	       "0x       -            test:twice  arg1 uint64_t %rdi\n"
	       "0x       0x       test:with_semaphore\n"
	       "\n7 sites of 5 probes\n");
	expect("test:stepped", false,
	       "OFFSET       SEMAPHORE    PROBE\n"
	       "0x       -            test:stepped\n"
	       "                          not a nop but \"lea 0x(%rsp), %rax\": each hit is "
	       "single-stepped\n"
	       "\n1 site of 1 probe\n");
}

static void json_is_as_promised(void **state)
{
	(void)state;
	expect("test:with*", true,
	       "[\n{\"provider\":\"test\",\"name\":\"with_semaphore\",\"off#,\"semaph#,"
	       "\"reason\":null,\"problem\":null,\"remark\":null,\"arguments\":[],"
	       "\"more_arguments\":0}\n]\n");
	expect("test:nop5", true,
	       "[\n{\"provider\":\"test\",\"name\":\"nop5\",\"off#,\"semaph#null,"
	       "\"reason\":\"unsafe_site\",\"problem\":\"a five-byte nop: newer kernels replace "
	       "it by a call, which overwrites what a function may keep below its stack "
	       "pointer\",\"remark\":null,\"arguments\":[],\"more_arguments\":0}\n]\n");
	expect("other:*", true,
	       "[\n{\"provider\":\"other\",\"name\":\"plain\",\"off#,\"semaph#null,"
	       "\"reason\":null,\"problem\":null,\"remark\":null,\"arguments\":["
	       "{\"type\":\"uint64_t\",\"operand\":\"%rax\",\"problem\":null}],"
	       "\"more_arguments\":0}\n]\n");
}

static void arguments_that_cannot_be_read_say_why(void **state)
{
	int status;
	char *text = list(PROGRAM, "test:symbols", false, &status);

	(void)state;
	assert_non_null(strstr(text,
			       "arg2 int32_t twin(%rip) (cannot be read: symbol twin is the "
			       "name of several things in the file), arg3 int32_t counter+4"));
	free(text);
	text = list(PROGRAM, "test:symbols", true, &status);
	assert_non_null(strstr(text, "\"operand\":\"nowhere(%rip)\",\"problem\":\"symbol nowhere "
				     "is not among the file's symbols\"}"));
	free(text);
}

/* What is in a file must not move the cursor. */
static void names_are_made_printable(void **state)
{
	(void)state;
	expect("hos*", false,
	       "OFFSET       SEMAPHORE    PROBE\n"
	       "0x       -            hos\\x1btile:na\\nme\\xc2\\x9b  arg1 uint64_t \\x1b[2J "
	       "(cannot be read: \"\\x1b[2J\" is not understood), arg2 int32_t $1\n"
	       "\n1 site of 1 probe\n");
	expect("hos*", true,
	       "[\n{\"provider\":\"hos\\u001btile\",\"name\":\"na\\nme\302\233\",\"off#,"
	       "\"semaph#null,\"reason\":null,\"problem\":null,\"remark\":null,\"arguments\":["
	       "{\"type\":\"uint64_t\",\"operand\":\"\\u001b[2J\",\"problem\":\"\\\"\\u001b[2J"
	       "\\\" is not understood\"},{\"type\":\"int32_t\",\"operand\":\"$1\",\"problem\":"
	       "null}],\"more_arguments\":0}\n]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_as_promised),
		cmocka_unit_test(text_is_as_promised),
		cmocka_unit_test(json_is_as_promised),
		cmocka_unit_test(arguments_that_cannot_be_read_say_why),
		cmocka_unit_test(names_are_made_printable),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
