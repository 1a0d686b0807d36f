/* The command `list`: its status and what it prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmd_list.h"
#include "printable.h"

#define PROGRAM "build/victims/elf/plain.pie"

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

	*status = cmd_list(path, pattern, false, json, out);
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
		{PROGRAM, "fir*", 0},
		{PROGRAM, "no_such", 1},
		{"/nonexistent", NULL, 2},
		{"/etc/passwd", NULL, 2},
		{"/tmp", NULL, 2},
		{"build/victims/elf/evidence.o", NULL, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status;
		free(list(cases[i].path, cases[i].pattern, false, &status));
		assert_int_equal(status, cases[i].status);
		free(list(cases[i].path, cases[i].pattern, true, &status));
		assert_int_equal(status, cases[i].status);
	}
}

static void a_function_is_one_line(void **state)
{
	int status;
	char *text = list(PROGRAM, "with_alias", false, &status);

	(void)state;
	assert_non_null(strstr(text, "uretprobe  "));
	assert_non_null(strstr(text, "alias_of_it"));
	assert_non_null(strstr(text, "1 function; EXIT is what exit: auto does"));
	free(text);
	text = list("build/victims/elf/evidence.CANCEL", "victim", false, &status);
	assert_non_null(strstr(text, "return-sites  victim"));
	free(text);
}

static void json_is_read_by_others(void **state)
{
	static const char script[] =
		"import json,sys\n"
		"a=json.load(sys.stdin)\n"
		"assert len(a)==1 and a[0]['bind']=='global'\n"
		"names=[a[0]['function']]+a[0]['aliases']\n"
		"assert sorted(names)==['alias_of_it','weak_alias','with_alias']\n"
		"assert a[0]['offset']>0 and a[0]['size']>0\n"
		"assert a[0]['exit_auto']=='uretprobe' and not a[0]['untyped']\n"
		"assert a[0]['entry_class'] and 'plain C' in a[0]['why']\n";
	int status;
	char *text = list(PROGRAM, "with_alias", true, &status);

	(void)state;
	assert_int_equal(setenv("SCRIPT", script, 1), 0);
	FILE *python = popen("python3 -c \"$SCRIPT\"", "w");
	fputs(text, python);
	assert_int_equal(pclose(python), 0);
	free(text);
	text = list(PROGRAM, "no_such", true, &status);
	assert_string_equal(text, "[]\n");
	free(text);
}

static void control_characters_are_shown(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out);
	printable_put(&out, "a\nb\tc\x1b[2J\x7f \xff \xc2\x9b \xc3\xa9");
	assert_string_equal(strbuf_text(&out), "a\\nb\\tc\\x1b[2J\\x7f \\xff \\xc2\\x9b \xc3\xa9");
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_as_promised),
		cmocka_unit_test(a_function_is_one_line),
		cmocka_unit_test(json_is_read_by_others),
		cmocka_unit_test(control_characters_are_shown),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
