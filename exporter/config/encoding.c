/*
 * Bytes that have no place in a config. libyaml would refuse some of them as well, but with a
 * byte offset, and takes U+0085, U+2028 and U+2029 for line ends, which no editor does: lines
 * would be counted differently.
 */
#include "config/encoding.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

struct bad_bytes {
	const char *bytes;
	size_t length;
	const char *message;
};

#define BAD(bytes, message)                                                                        \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, message                                                  \
	}

/* At the start of the file. */
static const struct bad_bytes byte_order_marks[] = {
	BAD("\xef\xbb\xbf",
	    "the file begins with a byte order mark (U+FEFF): save it as UTF-8 without BOM"),
	BAD("\xff\xfe", "the file is UTF-16: save it as UTF-8 without BOM"),
	BAD("\xfe\xff", "the file is UTF-16: save it as UTF-8 without BOM"),
};

/* Anywhere. */
static const struct bad_bytes bad_characters[] = {
	BAD("\0", "a NUL byte: this is not a text file"),
	BAD("\xef\xbb\xbf", "a byte order mark (U+FEFF) within the text: delete it"),
	BAD("\xc2\x85", "the line separator U+0085 is not allowed: end lines with LF"),
	BAD("\xe2\x80\xa8", "the line separator U+2028 is not allowed: end lines with LF"),
	BAD("\xe2\x80\xa9", "the line separator U+2029 is not allowed: end lines with LF"),
	BAD("\xef\xbf\xbe", "U+FFFE is not a character"),
	BAD("\xef\xbf\xbf", "U+FFFF is not a character"),
};

static const struct bad_bytes *find(const struct bad_bytes *table, size_t n, const char *at,
				    size_t left)
{
	for (size_t i = 0; i < n; i++)
		if (left >= table[i].length && !memcmp(at, table[i].bytes, table[i].length))
			return &table[i];
	return NULL;
}

static int fault(struct report *report, size_t at, size_t length, const char *message)
{
	report_error(report, (struct span){at, at + length}, "%s", message);
	return -EINVAL;
}

static int check_ascii(struct report *report, size_t i)
{
	unsigned char c = (unsigned char)report->text[i];

	if (c == '\t' || c == '\n' || (c >= 0x20 && c != 0x7f))
		return 0;
	if (c == '\r' && report->text[i + 1] == '\n')
		return 0;
	if (c == '\r')
		return fault(report, i, 1,
			     "a carriage return without line feed: end lines with LF");
	report_error(report, (struct span){i, i + 1}, "the control character 0x%02x is not allowed",
		     c);
	return -EINVAL;
}

static int check_wide(struct report *report, size_t i, size_t length)
{
	const char *at = report->text + i;

	if (!length) {
		report_error(report, (struct span){i, i + 1}, "not valid UTF-8: byte 0x%02x",
			     (unsigned char)*at);
		return -EINVAL;
	}
	if (at[0] == '\xc2' && (unsigned char)at[1] < 0xa0) {
		report_error(report, (struct span){i, i + 2},
			     "the control character U+%04X is not allowed", (unsigned char)at[1]);
		return -EINVAL;
	}
	return 0;
}

int encoding_check(struct report *report)
{
	const char *text = report->text;
	const struct bad_bytes *bad;

	if ((bad = find(byte_order_marks, N_ITEMS(byte_order_marks), text, report->length)))
		return fault(report, 0, bad->length, bad->message);
	for (size_t i = 0, length; i < report->length; i += length) {
		unsigned char c = (unsigned char)text[i];
		if (c == 0 || c >= 0x80)
			if ((bad = find(bad_characters, N_ITEMS(bad_characters), text + i,
					report->length - i)))
				return fault(report, i, bad->length, bad->message);
		length = utf8_sequence(text + i);
		if (c < 0x80 ? check_ascii(report, i) : check_wide(report, i, length))
			return -EINVAL;
	}
	return 0;
}
