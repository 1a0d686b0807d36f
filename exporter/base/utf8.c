/* UTF-8 validation: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/utf8.h"

size_t utf8_sequence(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf; /* range of the second byte */
	size_t length;

	if (s[0] == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

int utf8_valid(const char *text)
{
	while (*text) {
		size_t length = utf8_sequence(text);
		if (length == 0)
			return 0;
		text += length;
	}
	return 1;
}
