/* encoding.c: bytes that are no text are named with their place. */
#include "common.h"

static const struct {
	const char *text;
	size_t length;
	const char *first;
} cases[] = {
#define TEXT(literal) literal, sizeof(literal) - 1
	{TEXT("\xef\xbb\xbftargets: []\n"),
	 "1:1: the file begins with a byte order mark (U+FEFF): save it as UTF-8 without BOM"},
	{TEXT("\xff\xfet\0"), "1:1: the file is UTF-16: save it as UTF-8 without BOM"},
	{TEXT("\xfe\xff\0t"), "1:1: the file is UTF-16: save it as UTF-8 without BOM"},
	{TEXT("a: b\n  \0"), "2:3: a NUL byte: this is not a text file"},
	{TEXT("a: \xff"), "1:4: not valid UTF-8: byte 0xff"},
	{TEXT("a: \xc0\x80"), "1:4: not valid UTF-8: byte 0xc0"},
	{TEXT("a: \xed\xa0\x80"), "1:4: not valid UTF-8: byte 0xed"},
	{TEXT("a: \xf4\x90\x80\x80"), "1:4: not valid UTF-8: byte 0xf4"},
	{TEXT("a: \xe2\x82"), "1:4: not valid UTF-8: byte 0xe2"},
	{TEXT("\xe2\x82\xac: \xe2"), "1:4: not valid UTF-8: byte 0xe2"},
	{TEXT("a: \x07"), "1:4: the control character 0x07 is not allowed"},
	{TEXT("a: \x7f"), "1:4: the control character 0x7f is not allowed"},
	{TEXT("a: \xc2\x9f"), "1:4: the control character U+009F is not allowed"},
	{TEXT("a: \xc2\x85"), "1:4: the line separator U+0085 is not allowed: end lines with LF"},
	{TEXT("a: \xe2\x80\xa8"),
	 "1:4: the line separator U+2028 is not allowed: end lines with LF"},
	{TEXT("a: \xe2\x80\xa9"),
	 "1:4: the line separator U+2029 is not allowed: end lines with LF"},
	{TEXT("a: \xef\xbb\xbf"), "1:4: a byte order mark (U+FEFF) within the text: delete it"},
	{TEXT("a: \xef\xbf\xbf"), "1:4: U+FFFF is not a character"},
	{TEXT("a: b\rc"), "1:5: a carriage return without line feed: end lines with LF"},
	{TEXT("a: b\r"), "1:5: a carriage return without line feed: end lines with LF"},
#undef TEXT
};

static void bytes_that_are_no_text_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		/* Exactly this long, so that a look beyond the end is seen by the sanitizer. */
		char *text = malloc(cases[i].length);
		memcpy(text, cases[i].text, cases[i].length);
		char *said = parse_wrong_bytes(text, cases[i].length);
		said[strcspn(said, "\n")] = '\0';
		assert_string_equal(said + strlen("c.yaml:"), cases[i].first);
		free(said);
		free(text);
	}
}

static void text_of_every_length_is_text(void **state)
{
	(void)state;
	spec_free(parse_right(
		FUNCTION "        name: \"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\r\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_are_no_text_are_named),
		cmocka_unit_test(text_of_every_length_is_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
