/* regex.c: what compiles and is cheap, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "config/regex.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

static const char *const good[] = {
	"shop",
	"^/usr/bin/java .*-jar shop\\.jar( |$)",
	"--port[ =][0-9]{2,5}",
	"a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z+",
	"([0-9]{1,3}\\.){3}[0-9]{1,3}",
	"([a-z0-9]+(-[a-z0-9]+)*\\.)+[a-z]+",
	"[[:alnum:]_]+[]x[][^]y]",
	"[[.(.][=(=]]",
	"[(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((]",
	"((((((((((a))))))))))",
	"\\(\\{\\+\\\\",
	"(a|b)*c?",
	".*",
};

static const struct {
	const char *text, *fault;
} bad[] = {
	{"(", "is not a POSIX extended regular expression: Unmatched ( or \\("},
	{"a[b", "is not a POSIX extended regular expression: "},
	{"a\\", "is not a POSIX extended regular expression: Trailing backslash"},
	{"*a", "is not a POSIX extended regular expression: Invalid preceding"},
	{"a{2,1}", "is not a POSIX extended regular expression: Invalid content of \\{\\}"},
	{"[z-a]", "is not a POSIX extended regular expression: Invalid range end"},
	{"(a)\\1", "has a back reference (`\\1`), which is not supported"},
	{"((a{99}){99}){99}", "repeats too much"},
	{"(((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "repeats too much"},
	{"a{5000}", "repeats too much"},
	{"(.{100}){100}", "repeats too much"},
	{"(a{40}b{40}){60}", "repeats too much"},
	{"a{1,99999999999999999999}", "repeats too much"},
	{"[]](a+){4000}", "repeats too much"},
	{"((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))",
	 "is nested too deeply"},
};

static void each_has_its_fault(void **state)
{
	char room[256];
	const char *fault;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(good); i++)
		if ((fault = regex_fault(good[i], room, sizeof(room))))
			fail_msg("%s: %s", good[i], fault);
	for (size_t i = 0; i < N_ITEMS(bad); i++) {
		fault = regex_fault(bad[i].text, room, sizeof(room));
		if (!fault || strncmp(fault, bad[i].fault, strlen(bad[i].fault)) != 0)
			fail_msg("%s: %s", bad[i].text, fault ? fault : "right");
	}
}

/* The dearest that is let through compiles in no time. */
static void nothing_costs_much(void **state)
{
	static const char *const ends[] = {"+", "{15}", "*", "?", "{0,15}", "(a|b)+"};
	char text[REGEX_MAX_BYTES + 64], room[256];
	clock_t begin = clock();

	(void)state;
	for (size_t i = 0; i < N_ITEMS(ends); i++)
		for (size_t depth = 0; depth < 31; depth++) {
			text[0] = '\0';
			for (size_t d = 0; d < depth; d++)
				strcat(text, "(");
			strcat(text, "[a-z]");
			for (size_t d = 0; d < depth; d++) {
				strcat(text, ")");
				strcat(text, ends[i]);
			}
			for (size_t n = 0; strlen(text) < REGEX_MAX_BYTES - 3 && n < 100; n++)
				strcat(text, ".+");
			regex_fault(text, room, sizeof(room));
		}
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_fault),
		cmocka_unit_test(nothing_costs_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
