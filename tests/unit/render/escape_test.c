/* Escaping of label values and help texts. */
#include "render/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *text, *value, *help;
} examples[] = {
	{"", "", ""},
	{"plain", "plain", "plain"},
	{"a\"b", "a\\\"b", "a\"b"},
	{"a\\b", "a\\\\b", "a\\\\b"},
	{"a\nb\n", "a\\nb\\n", "a\\nb\\n"},
	{"\\n", "\\\\n", "\\\\n"},
	{"\"\\\n", "\\\"\\\\\\n", "\"\\\\\\n"},
	{"\t\r", "\t\r", "\t\r"},
	{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	/* not UTF-8: a stray byte, a cut sequence, an overlong form, a surrogate, beyond U+10FFFF
	 */
	{"a\xff"
	 "b",
	 "a\xef\xbf\xbd"
	 "b",
	 "a\xef\xbf\xbd"
	 "b"},
	{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xe2\x82\"", "\xef\xbf\xbd\xef\xbf\xbd\\\"", "\xef\xbf\xbd\xef\xbf\xbd\""},
	{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
};

static void texts_are_escaped(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out);
	for (size_t i = 0; i < COUNT(examples); i++) {
		strbuf_clear(&out);
		escape_put_value(&out, examples[i].text);
		assert_string_equal(strbuf_text(&out), examples[i].value);
		strbuf_clear(&out);
		escape_put_help(&out, examples[i].text);
		assert_string_equal(strbuf_text(&out), examples[i].help);
	}
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
