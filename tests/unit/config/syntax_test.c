/* syntax.c: text that is not YAML is explained, at the place where it has to be mended. */
#include "common.h"

static const struct wrong cases[] = {
	{"targets:\n\t- name: a\n", "2:1: a tab cannot indent: use spaces"},
	{"targets:\n  - name: a\n\tbinary: b\n", "3:1: a tab cannot indent: use spaces"},
	{"a: |\n\tb\n", "2:1: a tab cannot indent: use spaces"},
	{"a: b: c\n", "1:5: a second `: ` in one line: put text that contains it in quotes"},
	{"a: b\n  c: d\n",
	 "2:4: a `:` is not allowed here: check the indentation, and that the line "
	 "above has its `:`"},
	{"a:\n  - b\n c: d\n",
	 "3:2: expected a key: check the indentation (the mapping began on line 1)"},
	{"a:\n  - b\n  c: d\n",
	 "3:3: expected a list item (`- `): check the indentation (the list began on line 2)"},
	{"a:\n  b: c\n - d\n",
	 "3:2: expected a key: check the indentation (the mapping began on line 1)"},
	{"a: - b\n", "1:4: a list item (`- `) is not allowed here: begin it on a line of its own"},
	{"a: b\nc\n", "2:1: a `:` is missing after this key"},
	{"a: \"b\nc: d\n", "1:4: this quote is never closed"},
	{"a: 'b\n---\n", "1:4: this quote is never closed"},
	{"a: [b, c\n", "1:4: this list is not closed: a `,` or `]` is missing"},
	{"a: [b\nc: d\n", "1:4: this list is not closed: a `,` or `]` is missing"},
	{"a: {b: c\n", "1:4: this mapping is not closed: a `,` or `}` is missing"},
	{"a: [\"b\" \"c\"]\n", "1:9: expected `,` or `]` before this"},
	{"a: {b: \"c\" d: e}\n", "1:12: expected `,` or `}` before this"},
	{"a: [,]\n", "1:5: a value is missing here"},
	{"a: \"\\d\"\n", "1:5: unknown escape in double quotes: write \\\\ for a backslash, or use "
			 "single quotes"},
	{"a: \"\\xzz\"\n",
	 "1:7: unfinished escape in double quotes: hexadecimal digits are missing"},
	{"a: \"\\ud800\"\n", "1:7: this escape is not a Unicode character"},
	{"a: @b\n", "1:4: text that begins with this character must be quoted"},
	{"a: `b`\n", "1:4: text that begins with this character must be quoted"},
	{"a: %b\n", "1:4: text that begins with this character must be quoted"},
	{"a: !x!y b\n", "1:4: tags (`!…`) are not supported"},
	{"[a]\nb\n", "2:1: this does not belong to what is above it: check the indentation"},
	{"%YAML 3.0\n---\na: b\n", "1:1: syntax error: found incompatible YAML document"},
};

static void each_is_explained(void **state)
{
	(void)state;
	check_wrong(cases, N_ITEMS(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_explained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
