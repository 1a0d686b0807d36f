/* The command `check`: its status, one line a probe, and the same facts as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_check.h"

#define PROGRAM "build/victims/elf/plain.pie"

static int build_victims(void **state)
{
	(void)state;
	return system("tests/victims/elf/build.sh build/victims/elf >&2");
}

static const uint64_t bounds[] = {1000};

static struct spec_function function_of(const char *symbol, enum exit_mode exit)
{
	return (struct spec_function){
		.symbol = symbol, .label = symbol, .exit = exit, .buckets = {bounds, 1}};
}

/* Run check over these functions of PROGRAM; the text is the caller's to free. */
static char *check(const struct spec_function *functions, size_t n, bool json, int *status)
{
	struct spec_target target = {
		.name = "shop\n1", .binary = PROGRAM, .functions = functions, .n_functions = n};
	struct spec spec = {.targets = &target, .n_targets = 1, .limits = {.host_programs = 8}};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*status = cmd_check(&spec, json, out);
	fclose(out);
	return text;
}

static size_t lines_with(const char *text, const char *start)
{
	size_t n = 0;

	for (const char *at = text; at;) {
		n += strncmp(at, start, strlen(start)) == 0;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return n;
}

static void right_functions_give_0(void **state)
{
	struct spec_function functions[] = {function_of("first", EXIT_AUTO),
					    function_of("main", EXIT_NONE)};
	int status;
	char *text = check(functions, 2, false, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_int_equal(lines_with(text, "ok "), 2);
	assert_int_equal(lines_with(text, "refused"), 0);
	assert_int_equal(lines_with(text, "assumed"), 2);
	assert_int_equal(lines_with(text, "file "), 1);
	assert_non_null(strstr(text, "; 2 probes placed in every process that maps it, 0 in one "));
	assert_non_null(strstr(text, "uretprobe  a plain C program"));
	assert_non_null(strstr(text, "shop\\n1")); /* a newline in a name does not break the line */
	assert_non_null(strstr(text, "2 probes: 2 can be attached, 0 cannot"));
	free(text);
}

static void a_wrong_one_gives_1_and_says_why(void **state)
{
	struct spec_function functions[] = {function_of("first", EXIT_AUTO),
					    function_of("frist", EXIT_AUTO)};
	int status;
	char *text = check(functions, 2, false, &status);

	(void)state;
	assert_int_equal(status, 1);
	assert_int_equal(lines_with(text, "ok "), 1);
	assert_int_equal(lines_with(text, "refused"), 1);
	assert_non_null(strstr(text, "symbol_not_found"));
	assert_non_null(strstr(text, "did you mean first"));
	free(text);
}

static void aliases_are_warned_of(void **state)
{
	struct spec_function functions[] = {function_of("with_alias", EXIT_AUTO),
					    function_of("alias_of_it", EXIT_AUTO)};
	int status;
	char *text = check(functions, 2, false, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_int_equal(lines_with(text, "warning  shop\\n1 alias_of_it: "), 1);
	free(text);
}

/* Another program's reader judges the JSON: Python's. */
static void json_has_the_same_facts(void **state)
{
	struct spec_function functions[] = {
		function_of("first", EXIT_AUTO), function_of("frist", EXIT_AUTO),
		function_of("with_alias", EXIT_NONE), function_of("weak_alias", EXIT_NONE)};
	static const char script[] =
		"import json,sys\n"
		"a=json.load(sys.stdin)\n"
		"assert [p['ok'] for p in a]==[True,False,True,True]\n"
		"assert a[0]['target']=='shop\\n1' and a[0]['function']=='first'\n"
		"assert a[0]['exit']=='auto' and a[0]['exit_strategy']=='uretprobe'\n"
		"assert a[0]['entry_offset']==a[0]['symbol_offset']>0 and a[0]['size']>0\n"
		"assert a[0]['reason'] is None and 'plain C' in a[0]['detail']\n"
		"assert a[0]['assumed'] and len(a[0]['build_id'])==40 and a[0]['pid'] is None\n"
		"assert a[1]['reason']=='symbol_not_found' and a[1]['entry_offset'] is None\n"
		"assert a[1]['exit_strategy'] is None and a[1]['assumed']==[]\n"
		"assert a[3]['shared_with']=={'target':'shop\\n1','function':'with_alias'}\n"
		"assert a[0]['mapping_processes']==0\n";
	int status;
	char *text = check(functions, 4, true, &status);

	(void)state;
	assert_int_equal(status, 1);
	assert_int_equal(setenv("SCRIPT", script, 1), 0);
	FILE *python = popen("python3 -c \"$SCRIPT\"", "w");
	fputs(text, python);
	assert_int_equal(pclose(python), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_functions_give_0),
		cmocka_unit_test(a_wrong_one_gives_1_and_says_why),
		cmocka_unit_test(aliases_are_warned_of),
		cmocka_unit_test(json_has_the_same_facts),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
