/* Near names, and which comes first. */
#include "common.h"

#include "target/nearest.h"

static void see(struct nearest *nearest, const char *name, enum symbol_kind kind)
{
	nearest_visit(nearest,
		      &(struct symbol){.name = name, .length = strlen(name), .kind = kind});
}

static void expect_near(const char *wanted, bool variants, const char *const *names,
			const char *near)
{
	struct nearest nearest;
	struct strbuf text;

	nearest_init(&nearest);
	strbuf_init(&text);
	nearest_add(&nearest, wanted, strlen(wanted), variants);
	for (; *names; names++)
		see(&nearest, *names, SYMBOL_FUNCTION);
	nearest_put(&nearest, 0, &text);
	assert_string_equal(strbuf_text(&text), near);
	strbuf_fini(&text);
	nearest_fini(&nearest);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void near_names_are_ordered(void **state)
{
	(void)state;
	expect_near("parse", false, NAMES("prase", "Parse", "parse.isra.0", "parse.cold", "sparse"),
		    "parse.isra.0, Parse or prase");
	expect_near("exec_query", false, NAMES("exec_querry", "exec_queries_x", "unrelated"),
		    "exec_querry");
	expect_near("f", false, NAMES("abc", "xyz"), "");
	expect_near("big", false,
		    NAMES("big.part.0", "big.constprop.0", "big.cold", "big.isra.0.cold"),
		    "big.part.0 or big.constprop.0");
	expect_near("foo", false, NAMES("_ZN2ns3fooEi", "_Z3fooi", "_Z6foobarv"),
		    "_ZN2ns3fooEi or _Z3fooi");
	expect_near("same", false, NAMES("smae", "smae", "sane", "some", "sama"),
		    "smae, sane or some");
}

static void implementations_are_found(void **state)
{
	(void)state;
	expect_near("memcpy", true,
		    NAMES("__memcpy_avx_unaligned", "__memcpy_sse2", "memcpyx", "memcpy",
			  "wmemcpy_sse2"),
		    "__memcpy_avx_unaligned or __memcpy_sse2");
	expect_near("f", true, NAMES("f.avx2.0", "f.default.1", "f.resolver", "g.avx2.0"),
		    "f.avx2.0 or f.default.1");
	expect_near("__f", true, NAMES("f_sse2"), "f_sse2");
	expect_near("___", true, NAMES("f_sse2"), "");
}

static void only_code_is_near(void **state)
{
	struct nearest nearest;

	(void)state;
	nearest_init(&nearest);
	nearest_add(&nearest, "name", 4, false);
	see(&nearest, "nama", SYMBOL_DATA);
	see(&nearest, "namb", SYMBOL_UNDEFINED);
	assert_int_equal(nearest.names.at[0].n, 0);
	see(&nearest, "namc", SYMBOL_UNTYPED);
	assert_int_equal(nearest.names.at[0].n, 1);
	nearest_fini(&nearest);
}

/* Long names and many of them: the work is bounded. */
static void the_work_is_bounded(void **state)
{
	static char wanted[200][201], name[300];
	struct nearest nearest;

	(void)state;
	nearest_init(&nearest);
	for (int i = 0; i < 200; i++) {
		memset(wanted[i], 'a' + i % 26, 200);
		nearest_add(&nearest, wanted[i], 200, false);
	}
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%0200d", i);
		memset(name, 'a' + i % 26, 190);
		see(&nearest, name, SYMBOL_FUNCTION);
	}
	memset(name, 'x', sizeof(name) - 1);
	see(&nearest, name, SYMBOL_FUNCTION); /* longer than is compared */
	assert_true(nearest.work < 64u * 1000 * 1000);
	nearest_fini(&nearest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_names_are_ordered),
		cmocka_unit_test(implementations_are_found),
		cmocka_unit_test(only_code_is_near),
		cmocka_unit_test(the_work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
