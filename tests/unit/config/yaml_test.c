/* yaml.c: the tree, its positions and its bounds. */
#include "common.h"

#include <unistd.h>

#include "config/yaml.h"

struct reading {
	struct report report;
	struct yaml_tree tree;
	int rc;
};

static void read_text(struct reading *reading, const char *text)
{
	report_init(&reading->report, "f", text, strlen(text));
	reading->rc = yaml_tree_read(&reading->tree, &reading->report);
}

static void end(struct reading *reading)
{
	yaml_tree_fini(&reading->tree);
	report_fini(&reading->report);
}

/* Whether a value's span is exactly this word of the text. */
static void check_span(const struct reading *reading, const struct yaml_value *value,
		       const char *word)
{
	size_t length = value->span.end - value->span.start;

	assert_int_equal(length, strlen(word));
	assert_memory_equal(report_text(&reading->report, value->span.start), word, length);
}

static void values_have_kind_and_place(void **state)
{
	struct reading r;

	(void)state;
	read_text(&r, "é: [one, 'two', {three: &t \"4\"}]\nsix: *t\nseven: |\n  text\nnone:\n");
	assert_int_equal(r.rc, 0);
	const struct yaml_value *root = r.tree.root;
	assert_int_equal(root->kind, YAML_MAPPING);
	assert_int_equal(root->n, 4);
	check_span(&r, root->pairs[0].key, "é");
	const struct yaml_value *list = root->pairs[0].value;
	check_span(&r, list, "[one, 'two', {three: &t \"4\"}]");
	assert_int_equal(list->kind, YAML_LIST);
	assert_int_equal(list->n, 3);
	check_span(&r, list->items[0], "one");
	assert_false(list->items[0]->quoted);
	check_span(&r, list->items[1], "'two'");
	assert_true(list->items[1]->quoted);
	assert_string_equal(list->items[1]->text, "two");
	check_span(&r, list->items[2], "{three: &t \"4\"}");
	check_span(&r, list->items[2]->pairs[0].value, "\"4\"");
	check_span(&r, root->pairs[1].value, "*t");
	assert_string_equal(root->pairs[1].value->text, "4");
	assert_true(root->pairs[2].value->quoted);
	assert_string_equal(root->pairs[2].value->text, "text\n");
	assert_true(yaml_is_missing(root->pairs[3].value));
	assert_false(yaml_is_missing(root->pairs[1].value));
	end(&r);
}

static void block_collections_are_marked_on_their_first_line(void **state)
{
	struct reading r;

	(void)state;
	read_text(&r, "a:\n  - name: x # why\n    other: y\n  -   z\n");
	const struct yaml_value *list = r.tree.root->pairs[0].value;
	check_span(&r, list, "- name: x");
	check_span(&r, list->items[0], "name: x");
	check_span(&r, list->items[1], "z");
	check_span(&r, r.tree.root, "a");
	end(&r);
}

static void positions_hold_after_many_wide_characters(void **state)
{
	struct strbuf text;
	struct reading r;

	(void)state;
	strbuf_init(&text);
	for (int i = 0; i < 500; i++)
		strbuf_printf(&text, "\"支払é%d\": [x%d, \"😀\"]\n", i, i);
	read_text(&r, strbuf_text(&text));
	assert_int_equal(r.tree.root->n, 500);
	for (int i = 0; i < 500; i++) {
		char word[16];
		snprintf(word, sizeof(word), "x%d", i);
		check_span(&r, r.tree.root->pairs[i].value->items[0], word);
		check_span(&r, r.tree.root->pairs[i].value->items[1], "\"😀\"");
	}
	end(&r);
	strbuf_fini(&text);
}

static void duplicates_and_merge_keys_are_left_out(void **state)
{
	struct reading r;

	(void)state;
	read_text(&r, "a: 1\nb: 2\na: 3\n<<: {c: d}\n\"<<\": 4\n? [x]\n: 5\n");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.report.errors, 3);
	assert_int_equal(r.tree.root->n, 3);
	assert_string_equal(r.tree.root->pairs[0].value->text, "1");
	assert_string_equal(r.tree.root->pairs[2].key->text, "<<");
	end(&r);
}

static void what_aliases_stand_for_is_counted(void **state)
{
	struct reading r;

	(void)state;
	read_text(&r, "a: &a [x, y]\nb: &b [*a, *a]\nc: *b\n");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.tree.root->pairs[0].value->expanded, 3);
	assert_int_equal(r.tree.root->pairs[2].value->expanded, 7);
	assert_int_equal(r.tree.root->pairs[2].value->height, 2);
	assert_int_equal(r.tree.root->height, 3);
	end(&r);
}

static const struct wrong cases[] = {
	{"", "1:1: the file is empty: `targets` is required"},
	{" \n\n", "1:1: the file is empty: `targets` is required"},
	{"# a: b\n", "1:1: the file is empty: `targets` is required"},
	{"---\n", "1:1: the file is empty: `targets` is required"},
	{"---\n...\n", "1:1: the file is empty: `targets` is required"},
	{"a: b\n---\n", "2:1: a second document: a config is one document"},
	{"a: b\n...\n---\nc: d\n", "3:1: a second document: a config is one document"},
	{"targets: *a\n", "1:10: no anchor for alias `a` before this line"},
	{"targets: &a [*a]\n", "1:14: alias `a` is used within its own anchor"},
	{"targets: &a\n  - *a\n", "2:5: alias `a` is used within its own anchor"},
	{FUNCTION "targets: []\n", "6:1: duplicate key `targets`: it is already on line 1"},
	{FUNCTION "\"targets\": []\n", "6:1: duplicate key `targets`: it is already on line 1"},
	{FUNCTION "        labels: {a: x, a: y}\n",
	 "6:24: duplicate key `a`: it is already on line 6"},
	{FUNCTION "        name: !!str no\n",
	 "6:15: tags (`!…`) are not supported: to make a value text, put it in quotes"},
	{FUNCTION "        labels: !!map {}\n",
	 "6:17: tags (`!…`) are not supported: to make a value text, put it in quotes"},
	{FUNCTION "        buckets: !x [1ms]\n",
	 "6:18: tags (`!…`) are not supported: to make a value text, put it in quotes"},
	{FUNCTION "        name: \"a\\0b\"\n", "6:15: text cannot hold a NUL character (\\0)"},
	{FUNCTION "        labels: {\"\": x}\n", "6:18: a key is missing before the `:`"},
	{FUNCTION "        ? {a: b}\n        : x\n",
	 "6:11: a key must be plain text, not a mapping"},
};

static void each_is_named(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

/* `n` times `part` between `before` and `after`; release with free(). */
static char *repeated(const char *before, const char *part, int n, const char *after)
{
	struct strbuf text;

	strbuf_init(&text);
	strbuf_puts(&text, before);
	for (int i = 0; i < n; i++)
		strbuf_puts(&text, part);
	strbuf_puts(&text, after);
	return strbuf_take(&text);
}

static void check_bound(char *text, const char *said_at_most)
{
	char *said = parse_wrong(text);

	if (!strstr(said, said_at_most))
		fail_msg("%.300s", said);
	free(said);
	free(text);
}

static void nesting_is_bounded(void **state)
{
	struct reading r;

	(void)state;
	read_text(&r, "a: [[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]\n"); /* 1 + 15 */
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.tree.root->height, 16);
	end(&r);
	check_bound(repeated("a: ", "[", 16, "x]]]]]]]]]]]]]]]]\n"),
		    "1:19: nested too deeply: at most 16");
	check_bound(repeated("", "[", 1 << 20, ""), "1:17: nested too deeply");
	check_bound(repeated("", "{a: ", 1 << 18, ""), "nested too deeply");
	check_bound(repeated("", "- ", 1 << 19, ""), "1:33: nested too deeply");
	check_bound(repeated("", "? ", 1 << 19, ""), "nested too deeply");
	check_bound(repeated("a: &a [[[[[[[[[x]]]]]]]]]\nb: &b [[[[[[[", "*a", 1, "]]]]]]]\n"),
		    "2:14: nested too deeply");
}

static void aliases_are_bounded(void **state)
{
	(void)state;
	check_bound(repeated("a: &a x\nb: [", "*a,", 1025, "]\n"), "more than 1024 aliases");
	check_bound(repeated("a: [", "&a x,", 257, "]\n"), "more than 256 anchors");
	check_bound(repeated("a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
			     "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [",
			     "*c,", 1000, "]\n"),
		    "more than 65536 values behind aliases");
}

/* Large inputs of the dull kind end as well, and soon: they are bounded by the file's size. */
static void large_files_end(void **state)
{
	(void)state;
	alarm(60);
	check_bound(repeated("", "a: b\n", 200000, ""), "too many faults");
	check_bound(repeated("{", "a: b,", 200000, "}"), "too many faults");
	check_bound(repeated("targets: [", "x,", 500000, "]\n"), "too many faults");
	check_bound(repeated(FUNCTION "        buckets: [", "1ms,", 200000, "]\n"),
		    "takes at most 255");
	check_bound(repeated(FUNCTION "        labels: {", "le: 1,", 150000, "}\n"),
		    "duplicate key `le`");
	check_bound(repeated("", "\n", 1 << 20, ""), "the file is empty");
	check_bound(repeated("\"", "x", 1 << 19, "\n"), "never closed");
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_kind_and_place),
		cmocka_unit_test(block_collections_are_marked_on_their_first_line),
		cmocka_unit_test(positions_hold_after_many_wide_characters),
		cmocka_unit_test(duplicates_and_merge_keys_are_left_out),
		cmocka_unit_test(what_aliases_stand_for_is_counted),
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(aliases_are_bounded),
		cmocka_unit_test(large_files_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
