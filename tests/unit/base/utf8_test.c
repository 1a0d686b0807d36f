/* UTF-8 as RFC 3629 has it. */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Encode a code point in `length` bytes, also where a shorter form exists. */
static void encode(uint32_t point, size_t length, char text[5])
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	memset(text, 0, 5);
	if (length == 1) {
		text[0] = (char)point;
		return;
	}
	for (size_t i = length - 1; i > 0; i--, point >>= 6)
		text[i] = (char)(0x80 | (point & 0x3f));
	text[0] = (char)(lead[length] | point);
}

static size_t shortest(uint32_t point)
{
	return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static void every_code_point_is_known_in_its_shortest_form_only(void **state)
{
	char text[5];

	(void)state;
	for (uint32_t point = 1; point < 0x1fffff; point++) {
		int valid = point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
		for (size_t length = shortest(point); length <= 4; length++) {
			encode(point, length, text);
			size_t wanted = valid && length == shortest(point) ? length : 0;
			if (utf8_sequence(text) != wanted)
				fail_msg("U+%x in %zu bytes", point, length);
		}
	}
}

static void cut_sequences_are_refused(void **state)
{
	static const char *const cut[] = {"\xc3",     "\xe2\x82", "\xe2",  "\xf0\x9f\x98",
					  "\xf0\x9f", "\xf0",	  "\xc3x", "\xe2\x82x",
					  "\x80",     "\xbf",	  "\xff",  "\xfe"};

	(void)state;
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		assert_int_equal(utf8_sequence(cut[i]), 0);
		assert_false(utf8_valid(cut[i]));
	}
	assert_int_equal(utf8_sequence(""), 0);
}

static void texts_are_valid_as_a_whole(void **state)
{
	(void)state;
	assert_true(utf8_valid(""));
	assert_true(utf8_valid("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
	assert_true(utf8_valid(UTF8_REPLACEMENT));
	assert_false(utf8_valid("plain \xc3\xa9 \xff"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_is_known_in_its_shortest_form_only),
		cmocka_unit_test(cut_sequences_are_refused),
		cmocka_unit_test(texts_are_valid_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
