/* spelled.c: functions asked for as the source spells them. */
#include "patterns.h"

#define PATH ELF_DIR "overloads"

static void expect_symbol(const char *text, const char *symbol)
{
	struct one one;

	one_resolve(&one, PATH, text, EXIT_NONE, 0, HOST_COST_ALLOW);
	if (one.probe->reason)
		fail_msg("%s: %s", text, one.probe->detail);
	assert_int_equal(strncmp(one.probe->symbol, symbol, strlen(symbol)), 0);
	assert_string_equal(one.probe->label, text);
	assert_true(one.probe->size > 0);
	one_free(&one);
}

static void exact_names_are_found(void **state)
{
	(void)state;
	expect_symbol("shop::Order::pay(int)", "_ZN4shop5Order3payEi");
	expect_symbol("shop::Order::pay(char const*)", "_ZN4shop5Order3payEPKc");
	expect_symbol("int biggest<int>(int, int)", "_Z7biggestIiET_S0_S0_");
	expect_symbol("_ZN4shop5Order3payEi", "_ZN4shop5Order3payEi");
}

static void parameters_may_be_left_out(void **state)
{
	(void)state;
	expect_symbol("shop::Order::refund", "_ZN4shop5Order6refundEi");
	expect_symbol("biggest<double>", "_Z7biggestIdET_S0_S0_");
	expect_symbol("shop::Order::Order", "_ZN4shop5OrderC"); /* both symbols are at one place */
}

static void overloads_are_listed(void **state)
{
	(void)state;
	EXPECT(PATH, "shop::Order::pay", EXIT_NONE, REASON_SYMBOL_AMBIGUOUS,
	       "shop::Order::pay is the name of 2 functions", "shop::Order::pay(int) (offset 0x",
	       "shop::Order::pay(char const*) (offset 0x", "with its parameters");
}

static void what_is_not_there_is_told(void **state)
{
	(void)state;
	EXPECT(PATH, "shop::Order::cancel", EXIT_NONE, REASON_SYMBOL_NOT_FOUND,
	       "there is no function shop::Order::cancel");
	EXPECT(PATH, "shop::Order::pay(long)", EXIT_NONE, REASON_SYMBOL_NOT_FOUND);
	EXPECT(PATH, "pay", EXIT_NONE, REASON_SYMBOL_NOT_FOUND);
}

/* Plain names are not looked for a second time, and many names are looked for together. */
static void many_at_once(void **state)
{
	struct many many;

	(void)state;
	MANY(&many, PATH, function_of("shop::Order::refund", EXIT_NONE),
	     function_of("main", EXIT_NONE), function_of("shop::Order::pay", EXIT_NONE),
	     function_of("nothing", EXIT_NONE), function_of("shop::Order::pay(int)", EXIT_NONE));
	static const enum reason reasons[] = {REASON_NONE, REASON_NONE, REASON_SYMBOL_AMBIGUOUS,
					      REASON_SYMBOL_NOT_FOUND, REASON_NONE};
	for (size_t i = 0; i < N_ITEMS(reasons); i++)
		assert_int_equal(many.plan->probes[i].reason, reasons[i]);
	many_free(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_names_are_found),
		cmocka_unit_test(parameters_may_be_left_out),
		cmocka_unit_test(overloads_are_listed),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(many_at_once),
	};
	return cmocka_run_group_tests(tests, build_victims, NULL);
}
