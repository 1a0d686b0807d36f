/* merge.c: one function is one series, and labels differ and can be scraped, whatever the names. */
#include "patterns.h"

#include "base/utf8.h"
#include "target/merge.h"

/* ---- one function, one series ---- */

static void the_first_entry_wins(void **state)
{
	struct spec_function pay = function_of("pay_by_c", EXIT_NONE);
	struct many many;

	(void)state;
	pay.label = "pay";
	MANY(&many, ELF_DIR "overloads", pay, match_of("pay_*", 10), match_of("*_c", 10));
	LABELS(&many, "pay");
	assert_ptr_equal(many.plan->probes[0].function, &many.functions[0]);
	expect_text(many.plan->probes[0].warning, "pay_* on line 2");
	expect_text(many.plan->probes[0].warning, "*_c on line 3");
	many_free(&many);
	MANY(&many, ELF_DIR "overloads", match_of("pay_*", 10), pay);
	LABELS(&many, "pay_by_c");
	assert_ptr_equal(many.plan->probes[0].function, &many.functions[0]);
	expect_text(many.plan->probes[0].warning, "pay on line 2");
	assert_null(many.plan->probes[0].shared_with);
	many_free(&many);
}

static void patterns_may_overlap(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "overloads", match_of("*refund*", 10), match_of("shop::*", 10));
	LABELS(&many, "shop::Order::refund(int)", "shop::Order::Order(int)",
	       "shop::Order::pay(char const*)", "shop::Order::pay(int)");
	many_free(&many);
}

/* Two entries without a pattern stay two series, as each was asked for by its name. */
static void names_are_not_merged(void **state)
{
	struct spec_function again = function_of("pay_by_c", EXIT_NONE);
	struct many many;

	(void)state;
	again.label = "again";
	MANY(&many, ELF_DIR "overloads", function_of("pay_by_c", EXIT_NONE), again,
	     match_of("*refund*", 10));
	LABELS(&many, "pay_by_c", "again", "shop::Order::refund(int)");
	assert_ptr_equal(many.plan->probes[1].shared_with, &many.plan->probes[0]);
	many_free(&many);
}

static void a_place_and_a_pattern(void **state)
{
	struct many many;
	struct one one;

	(void)state;
	one_resolve(&one, ELF_DIR "overloads", "pay_by_c", EXIT_NONE, 0, HOST_COST_ALLOW);
	MANY(&many, ELF_DIR "overloads",
	     place_of(BY_OFFSET, one.probe->symbol_offset, "here", EXIT_NONE),
	     match_of("pay_*", 3));
	LABELS(&many, "here");
	expect_text(many.plan->probes[0].warning, "pay_* on line 2");
	many_free(&many);
	one_free(&one);
}

static void static_functions_of_one_name(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "twins", match_of("helper", 10), match_of("mixed", 10));
	LABELS(&many, "helper (twin_a.c)", "helper (twin_b.c)", "mixed", "mixed (twin_a.c)");
	many_free(&many);
}

/* A label that the config gives is not given twice. */
static void a_name_of_the_config_is_kept(void **state)
{
	struct spec_function named = function_of("main", EXIT_NONE);
	struct many many;

	(void)state;
	named.label = "shop::Order::refund(int)";
	MANY(&many, ELF_DIR "overloads", named, match_of("*refund*", 10));
	LABELS(&many, "shop::Order::refund(int)", "_ZN4shop5Order6refundEi");
	many_free(&many);
}

/* ---- labels of any name ---- */

#define N 6

struct names {
	struct spec_function function;
	struct inspect_wanted wanted[N];
	struct expansion expansion, *list[1];
	struct arena arena;
};

static void merge_names(struct names *names, const char *const *name, size_t n)
{
	memset(names, 0, sizeof(*names));
	names->function = match_of("*", 100);
	for (size_t i = 0; i < n; i++)
		names->wanted[i] = (struct inspect_wanted){
			.text = name[i], .settled = true, .offset = 0x1000 + 16 * i};
	names->expansion =
		(struct expansion){.function = &names->function, .wanted = names->wanted, .n = n};
	names->list[0] = &names->expansion;
	arena_init(&names->arena);
	merge_target(names->list, 1, &names->arena);
}

static void expect_clean(const struct names *names, size_t n)
{
	assert_int_equal(names->expansion.n, n);
	for (size_t i = 0; i < n; i++) {
		const char *label = names->wanted[i].label;
		assert_true(utf8_valid(label));
		assert_true(strlen(label) > 0 && strlen(label) <= 1024 + 4);
		for (const char *c = label; *c; c++)
			assert_true((unsigned char)*c >= 0x20);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(label, names->wanted[j].label);
	}
}

static void bytes_that_are_no_text(void **state)
{
	static const char *const name[] = {"a\xff", "a\xfe", "a\nb", "a\x7f", "a\\xff", "\xc3\xa4"};
	struct names names;

	(void)state;
	merge_names(&names, name, N_ITEMS(name));
	expect_clean(&names, N_ITEMS(name));
	assert_string_equal(names.wanted[N - 1].label, "\xc3\xa4");
	arena_fini(&names.arena);
}

static void names_made_to_collide(void **state)
{
	static const char *const name[] = {"f",		 "f",		"f (0x1000)",
					   "f (0x1010)", "f (0x1000)'", "f"};
	struct names names;

	(void)state;
	merge_names(&names, name, N_ITEMS(name));
	expect_clean(&names, N_ITEMS(name));
	arena_fini(&names.arena);
}

static void long_names(void **state)
{
	char *text = malloc(16000), *other = malloc(16000);
	const char *name[] = {text, other, "f"};
	struct names names;

	(void)state;
	memset(text, 'n', 15999);
	text[15999] = '\0';
	memcpy(other, text, 16000);
	other[15998] = 'm';
	merge_names(&names, name, N_ITEMS(name));
	expect_clean(&names, N_ITEMS(name));
	arena_fini(&names.arena);
	free(text);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_entry_wins),
		cmocka_unit_test(patterns_may_overlap),
		cmocka_unit_test(names_are_not_merged),
		cmocka_unit_test(a_place_and_a_pattern),
		cmocka_unit_test(static_functions_of_one_name),
		cmocka_unit_test(a_name_of_the_config_is_kept),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(names_made_to_collide),
		cmocka_unit_test(long_names),
	};
	return cmocka_run_group_tests(tests, build_victims, NULL);
}
