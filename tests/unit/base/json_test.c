/* JSON strings. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"

static const struct {
	const char *text, *wanted;
} examples[] = {
	{"", "\"\""},
	{"plain", "\"plain\""},
	{"a\"b\\c/", "\"a\\\"b\\\\c/\""},
	{"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""},
	{"\x01\x0b\x1f\x7f", "\"\\u0001\\u000b\\u001f\\u007f\""},
	{"\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\""},
	{"a\xff\xc3", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
};

static void strings_are_escaped(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out);
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		strbuf_clear(&out);
		json_put_string(&out, examples[i].text);
		assert_string_equal(strbuf_text(&out), examples[i].wanted);
	}
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
