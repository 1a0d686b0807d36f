/* expand.c: what a pattern finds in real files, and what is said when it finds too much or nothing.
 */
#include "patterns.h"

#include "target/list.h"

static void the_order_is_that_of_labels(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("shop::*", 10));
	LABELS(&many, "shop::Order::Order(int)", "shop::Order::pay(char const*)",
	       "shop::Order::pay(int)", "shop::Order::refund(int)");
	for (size_t i = 0; i < many.plan->n_probes; i++) {
		const struct plan_probe *probe = &many.plan->probes[i];
		assert_int_equal(probe->reason, REASON_NONE);
		assert_ptr_equal(probe->function, &many.functions[0]);
		assert_int_equal(strncmp(probe->symbol, "_ZN4shop5Order", 14), 0);
		assert_true(probe->size > 0);
	}
	many_free(&many);
}

/* Mangled, demangled, without parameters: each is a name. */
static void all_forms_of_a_name_match(void **state)
{
	static const struct {
		const char *pattern;
		size_t n;
	} cases[] = {
		{"_ZN4shop5Order3pay*", 2},
		{"shop::Order::pay(int)", 1},
		{"shop::Order::pay", 2},
		{"*::pay", 2},
		{"*pay*", 3},
		{"*(char const*)", 1},
		{"int biggest<int>(*)", 1},
		{"biggest<*>", 2},
		{"pay_by_?", 1},
		{"[a-z]*::Order::[pr]*", 3},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		struct many many;
		MANY(&many, ELF_DIR "overloads", match_of(cases[i].pattern, 10));
		if (many.plan->n_probes != cases[i].n || many.plan->probes[0].reason)
			fail_msg("%s finds %zu, not %zu", cases[i].pattern, many.plan->n_probes,
				 cases[i].n);
		many_free(&many);
	}
}

struct counted {
	size_t functions, wrong;
	const struct many *many;
};

static void count_listed(void *context, const struct list_file *file,
			 const struct list_function *function)
{
	struct counted *counted = context;
	size_t found = 0;

	(void)file;
	for (size_t i = 0; i < counted->many->plan->n_probes; i++)
		found += counted->many->plan->probes[i].symbol_offset == function->offset;
	counted->functions += found;
	if (!function->untyped && found != 1)
		counted->wrong++;
}

/* What `list` shows and `*` finds is the same: two readings of the symbols by different code. */
static void a_star_finds_what_is_listed(void **state)
{
	static const char *const files[] = {"plain.pie",      "plain.static", "plain.rdynamic",
					    "plain.stripped", "split",	      "overloads"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		struct many many;
		struct counted counted = {.many = &many};
		struct list_file file;
		struct arena arena;
		char path[128];
		snprintf(path, sizeof(path), ELF_DIR "%s", files[i]);
		MANY(&many, path, match_of("*", 65536));
		arena_init(&arena);
		assert_true(list_functions(path, NULL, count_listed, &counted, &arena, &file,
					   NULL) > 0);
		if (counted.wrong || counted.functions != many.plan->n_probes)
			fail_msg("%s: %zu probes, %zu of them listed, %zu listed ones missing",
				 path, many.plan->n_probes, counted.functions, counted.wrong);
		arena_fini(&arena);
		many_free(&many);
	}
}

static void only_functions_match(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "split", match_of("*", 1000));
	for (size_t i = 0; i < many.plan->n_probes; i++)
		assert_null(strstr(many.plan->probes[i].symbol, ".cold"));
	assert_null(find_probe(&many, "fprintf"));
	many_free(&many);
	MANY(&many, ELF_DIR "ifunc", match_of("pick*", 1000));
	LABELS(&many, "pick_avx2", "pick_sse2");
	many_free(&many);
	MANY(&many, ELF_DIR "libversions.so", match_of("foo", 10), match_of("old", 10));
	LABELS(&many, "foo", "old");
	assert_string_equal(get_probe(&many, "foo")->symbol, "foo@@V2");
	assert_int_equal(get_probe(&many, "old")->reason, REASON_SYMBOL_NOT_FOUND);
	many_free(&many);
}

static void of_aliases_the_shortest_is_taken(void **state)
{
	struct many many, plain;
	size_t named = 0;

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("*OrderC?Ei", 10));
	LABELS(&many, "shop::Order::Order(int)");
	expect_text(many.plan->probes[0].warning, "also called _ZN4shop5OrderC");
	many_free(&many);
	MANY(&many, ELF_DIR "plain.static", match_of("*memcpy*", 100));
	MANY(&plain, ELF_DIR "plain.static", match_of("*", 65536));
	for (size_t i = 0; i < plain.plan->n_probes; i++)
		named += plain.plan->probes[i].warning != NULL;
	assert_true(named > 10); /* a C library is full of them */
	many_free(&plain);
	many_free(&many);
}

static void too_many_are_refused(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("shop::*", 3), function_of("main", EXIT_NONE));
	LABELS(&many, "shop::*", "main");
	assert_int_equal(many.plan->probes[0].reason, REASON_LIMIT);
	expect_text(many.plan->probes[0].detail, "shop::* matches 4 functions");
	expect_text(many.plan->probes[0].detail, "`max` is 3");
	assert_int_equal(many.plan->probes[1].reason, REASON_NONE);
	many_free(&many);
	MANY(&many, ELF_DIR "overloads", match_of("shop::*", 4));
	assert_int_equal(many.plan->n_probes, 4);
	many_free(&many);
}

static void none_is_explained(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("pay_by_x*", 3), match_of("[", 3));
	LABELS(&many, "pay_by_x*", "[");
	assert_int_equal(many.plan->probes[0].reason, REASON_SYMBOL_NOT_FOUND);
	expect_text(many.plan->probes[0].detail, "matches pay_by_x*");
	expect_text(many.plan->probes[0].detail, "did you mean pay_by_c?");
	assert_int_equal(many.plan->probes[1].reason, REASON_SYMBOL_NOT_FOUND);
	many_free(&many);
	MANY(&many, ELF_DIR "plain.static.stripped", match_of("f*", 3));
	expect_text(many.plan->probes[0].detail, "stripped");
	many_free(&many);
}

static void a_wrong_file_is_told_once_for_each_pattern(void **state)
{
	static const struct {
		const char *path;
		enum reason reason;
	} cases[] = {
		{"/nowhere/at/all", REASON_BINARY_NOT_FOUND},
		{"tests/victims/elf/build.sh", REASON_NOT_ELF},
		{"/proc/self/cmdline", REASON_NOT_ELF},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		struct many many;
		MANY(&many, cases[i].path, match_of("*", 3), match_of("f*", 3),
		     place_of(BY_OFFSET, 0x1000, "place", EXIT_NONE),
		     function_of("main", EXIT_NONE));
		LABELS(&many, "*", "f*", "place", "main");
		for (size_t j = 0; j < many.plan->n_probes; j++)
			assert_int_equal(many.plan->probes[j].reason, cases[i].reason);
		many_free(&many);
	}
}

/* The plan for one target has that target's probes only. */
static void one_target_of_several(void **state)
{
	struct many many;
	struct spec_target targets[2];

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("shop::*", 10));
	plan_free(many.plan);
	targets[0] = targets[1] = many.target;
	targets[1].name = "u";
	many.spec.targets = targets;
	many.spec.n_targets = 2;
	many.plan = resolve_plan(&many.spec, &targets[1]);
	assert_int_equal(many.plan->n_probes, 4);
	assert_ptr_equal(many.plan->probes[0].target, &targets[1]);
	plan_free(many.plan);
	many.plan = resolve_plan(&many.spec, NULL);
	assert_int_equal(many.plan->n_probes, 8);
	assert_ptr_equal(many.plan->probes[3].target, &targets[0]);
	assert_ptr_equal(many.plan->probes[4].target, &targets[1]);
	assert_ptr_equal(many.plan->probes[4].shared_with, &many.plan->probes[0]);
	many_free(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_labels),
		cmocka_unit_test(all_forms_of_a_name_match),
		cmocka_unit_test(a_star_finds_what_is_listed),
		cmocka_unit_test(only_functions_match),
		cmocka_unit_test(of_aliases_the_shortest_is_taken),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(none_is_explained),
		cmocka_unit_test(a_wrong_file_is_told_once_for_each_pattern),
		cmocka_unit_test(one_target_of_several),
	};
	return cmocka_run_group_tests(tests, build_victims, NULL);
}
