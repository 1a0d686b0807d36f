/* Listing: every function once, with all its names, and nothing that is not one. */
#include "common.h"

#include "target/list.h"

struct seen {
	struct {
		char names[512];
		uint64_t offset;
	} function[4096];
	size_t n;
};

static void remember(void *context, const struct list_file *file,
		     const struct list_function *function)
{
	struct seen *seen = context;
	size_t length = 0;

	(void)file;
	assert_true(seen->n < N_ITEMS(seen->function));
	if (seen->n)
		assert_true(function->offset > seen->function[seen->n - 1].offset);
	for (size_t i = 0; i < function->n_names; i++)
		length += (size_t)snprintf(seen->function[seen->n].names + length, 512 - length,
					   "%s%s", i ? " " : "", function->names[i]);
	seen->function[seen->n++].offset = function->offset;
}

static long list(struct seen *seen, const char *path, const char *pattern)
{
	struct list_file file;
	struct arena arena;
	struct err err = {0};

	memset(seen, 0, sizeof(*seen));
	arena_init(&arena);
	long n = list_functions(path, pattern, remember, seen, &arena, &file, &err);
	if (n < 0)
		assert_int_not_equal(err.reason, REASON_NONE);
	else
		assert_int_equal(n, seen->n);
	arena_fini(&arena);
	return n;
}

static struct seen seen;

/* Every name listed resolves to the offset listed: both go by the same rules. */
static void what_is_listed_resolves(void **state)
{
	static const char *const files[] = {"plain.pie",     "plain.static",   "labels",
					    "versions_main", "libversions.so", "split"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		char path[128];
		snprintf(path, sizeof(path), ELF_DIR "%s", files[i]);
		assert_true(list(&seen, path, NULL) > 0);
		for (size_t j = 0; j < seen.n && j < 40; j++) {
			struct one one;
			char *name = strtok(seen.function[j].names, " ");
			one_resolve(&one, path, name, EXIT_NONE, 0, HOST_COST_ALLOW);
			if (one.probe->reason != REASON_SYMBOL_AMBIGUOUS &&
			    (one.probe->reason ||
			     one.probe->symbol_offset != seen.function[j].offset))
				fail_msg("%s of %s: %s", name, path, one.probe->detail);
			one_free(&one);
		}
	}
}

static void aliases_are_one_function(void **state)
{
	(void)state;
	assert_int_equal(list(&seen, ELF_DIR "plain.rdynamic", "weak_al*"), 1);
	assert_non_null(strstr(seen.function[0].names, "with_alias"));
	assert_non_null(strstr(seen.function[0].names, "alias_of_it"));
	assert_non_null(strstr(seen.function[0].names, "weak_alias"));
	assert_int_equal(list(&seen, ELF_DIR "libversions.so", "foo"), 2);
	assert_non_null(strstr(seen.function[0].names, "foo@V1"));
	assert_non_null(strstr(seen.function[1].names, "foo@@V2"));
}

static void what_is_no_function_is_left_out(void **state)
{
	static const char *const names[] = {"counter", "table",	      "per_thread", "printf",
					    "_edata",  "fold_a.cold", "__bss_start"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(names); i++)
		assert_int_equal(list(&seen, ELF_DIR "plain.pie", names[i]), 0);
	assert_int_equal(list(&seen, ELF_DIR "ifunc", "pick"), 0);
	assert_int_equal(list(&seen, ELF_DIR "split", "*.cold"), 0);
	assert_int_equal(list(&seen, ELF_DIR "labels", "data_label"), 0);
	assert_int_equal(list(&seen, ELF_DIR "labels", "no_type"), 1);
}

static void errors_are_returned(void **state)
{
	(void)state;
	assert_true(list(&seen, "/nonexistent", NULL) < 0);
	assert_true(list(&seen, "/etc/passwd", NULL) < 0);
	assert_true(list(&seen, "/", NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_listed_resolves),
		cmocka_unit_test(aliases_are_one_function),
		cmocka_unit_test(what_is_no_function_is_left_out),
		cmocka_unit_test(errors_are_returned),
	};

	return cmocka_run_group_tests(tests, build_victims, NULL);
}
