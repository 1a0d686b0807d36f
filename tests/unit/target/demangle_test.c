/* demangle.c: the forms of a name, and names made to be endless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "target/demangle.h"

static struct demangler demangler;

static const struct {
	const char *name, *full, *bare; /* NULL: it is not a mangled one */
} cases[] = {
	{"main", NULL, NULL},
	{"", NULL, NULL},
	{"_", NULL, NULL},
	{"_Z", NULL, NULL},
	{"_Zzzz", NULL, NULL},
	{"_R", NULL, NULL},
	{"_init", NULL, NULL},
	{"_ZN4shop5Order3payEi", "shop::Order::pay(int)", "shop::Order::pay"},
	{"_ZN4shop5Order3payEPKc", "shop::Order::pay(char const*)", "shop::Order::pay"},
	{"_Z7biggestIiET_S0_S0_", "int biggest<int>(int, int)", "biggest<int>"},
	{"_ZN1AC1Ev", "A::A()", "A::A"},
	{"_ZN1A1fEv.part.0", "A::f() [clone .part.0]", "A::f"},
	{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
	 "core::fmt::Write::write_fmt"},
	{"_RNvC7mycrate3foo", "mycrate::foo", "mycrate::foo"},
	{"_RNvNtC7mycrate1a3foo.llvm.12345", "mycrate::a::foo", "mycrate::a::foo"},
};

static void expect(const char *name, const char *got, const char *wanted)
{
	if (!got != !wanted || (got && strcmp(got, wanted) != 0))
		fail_msg("%s: %s, not %s", name, got ? got : "nothing",
			 wanted ? wanted : "nothing");
}

static void names_have_two_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = strlen(cases[i].name);
		expect(cases[i].name, demangle_full(&demangler, cases[i].name, length),
		       cases[i].full);
		expect(cases[i].name, demangle_bare(&demangler, cases[i].name, length),
		       cases[i].bare);
	}
}

static void the_name_need_not_end(void **state)
{
	(void)state;
	expect("_Z1fi", demangle_full(&demangler, "_Z1fiiiii", 5), "f(int)");
}

/* f(pair<pair<…>, pair<…>>, …): each parameter is twice as long as the one before. */
static size_t make_bomb(char *name, size_t room, unsigned levels)
{
	size_t n = (size_t)snprintf(name, room, "_Z1fSt4pairIiiES_IS0_S0_E");

	for (unsigned i = 0; i < levels && n + 32 < room; i++) {
		char id[4] = {'S', (char)(i + 1 < 10 ? '1' + i : 'A' + i - 9), '_', '\0'};
		n += (size_t)snprintf(name + n, room - n, "S_I%s%sE", id, id);
	}
	return n;
}

static void endless_names_are_given_up(void **state)
{
	char name[1024];
	struct demangler *fresh = calloc(1, sizeof(*fresh));
	clock_t begin = clock();

	(void)state;
	size_t length = make_bomb(name, sizeof(name), 4);
	assert_non_null(demangle_full(fresh, name, length));
	length = make_bomb(name, sizeof(name), 30);
	assert_null(demangle_full(fresh, name, length));
	assert_int_equal(fresh->overruns, 1);
	expect("main", demangle_full(fresh, "_Z1fi", 5), "f(int)");
	for (unsigned i = 0; i < 1000; i++)
		demangle_full(fresh, name, length);
	assert_int_equal(fresh->overruns, DEMANGLE_MOST_OVERRUN);
	assert_null(demangle_full(fresh, "_Z1fi", 5));
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
	free(fresh);
}

static void long_names_are_left_as_they_are(void **state)
{
	size_t length = DEMANGLE_LONGEST_NAME + 1;
	char *name = malloc(length + 1);

	(void)state;
	memset(name, 'i', length);
	memcpy(name, "_Z1f", 4);
	name[length] = '\0';
	assert_null(demangle_full(&demangler, name, length));
	assert_non_null(demangle_bare(&demangler, name, DEMANGLE_LONGEST_NAME));
	memset(name + 4, 'P', length - 4); /* as deep as it can be */
	name[DEMANGLE_LONGEST_NAME - 1] = 'i';
	demangle_full(&demangler, name, DEMANGLE_LONGEST_NAME);
	memcpy(name, "_RNvC1aINvC1a1b", 15);
	demangle_full(&demangler, name, DEMANGLE_LONGEST_NAME);
	demangle_full(&demangler, "_RB_", 4);
	free(name);
}

/* Nothing that begins like a mangled name crashes it. */
static void odd_names_do_no_harm(void **state)
{
	static const char letters[] = "_ZRNvCStIESTKPTiBlu0123456789hX";
	struct demangler *fresh = calloc(1, sizeof(*fresh));
	uint32_t seed = 1;
	char name[200];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		size_t length = 2;
		name[0] = '_';
		name[1] = i & 1 ? 'R' : 'Z';
		for (; length < 3 + i % 190; length++) {
			seed = seed * 1664525 + 1013904223;
			name[length] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		demangle_full(fresh, name, length);
		demangle_bare(fresh, name, length);
	}
	free(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_two_forms),
		cmocka_unit_test(the_name_need_not_end),
		cmocka_unit_test(endless_names_are_given_up),
		cmocka_unit_test(long_names_are_left_as_they_are),
		cmocka_unit_test(odd_names_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
