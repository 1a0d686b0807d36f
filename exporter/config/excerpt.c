/* Source excerpts with carets. */
#include "config/excerpt.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define INDENT	    "    "
#define LINE_CHARS  100 /* shown of a long line */
#define CHARS_AHEAD 40	/* of them before the caret */
#define ELLIPSIS    "…"

struct range {
	uint32_t first, last;
};

/* Characters that are invisible or turn the direction of a terminal's text. */
static const struct range unprintable[] = {
	{0x00, 0x1f},	  {0x7f, 0x9f},	    {0x200b, 0x200f}, {0x2028, 0x202e},
	{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff},
};

/* Two columns wide: the W and F classes of Unicode's EastAsianWidth.txt, in coarse ranges. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
	{0xa960, 0xa97f},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
	{0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

/* No column of their own: combining marks and variation selectors. */
static const struct range combining[] = {
	{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

#define IN(ranges, c) in_ranges(ranges, sizeof(ranges) / sizeof((ranges)[0]), c)

static bool in_ranges(const struct range *ranges, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static uint32_t decode(const char *text, size_t length)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = (unsigned char)text[0] & first_bits[length];

	for (size_t i = 1; i < length; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

size_t excerpt_printable(const char *text)
{
	size_t length = utf8_sequence(text);

	return length && !IN(unprintable, decode(text, length)) ? length : 0;
}

/* Bytes to step over at `text`, which may be no character at all. */
static size_t step(const char *text)
{
	size_t length = utf8_sequence(text);
	return length ? length : 1;
}

static int columns(const char *text)
{
	size_t length = excerpt_printable(text);

	if (!length)
		return 1; /* shown as U+FFFD */
	uint32_t c = decode(text, length);
	return IN(combining, c) ? 0 : IN(wide, c) ? 2 : 1;
}

/* The stretch of a line that is shown. */
struct window {
	const char *from, *to;
	bool cut_before, cut_after;
};

static const char *back(const char *at, const char *limit, int chars)
{
	while (at > limit && chars > 0) {
		at--;
		if (((unsigned char)*at & 0xc0) != 0x80)
			chars--;
	}
	return at;
}

static const char *forth(const char *at, const char *limit, int chars)
{
	while (at < limit && chars-- > 0)
		at += step(at);
	return at < limit ? at : limit;
}

static struct window choose_window(const char *line, const char *line_end, const char *caret)
{
	struct window window = {.from = line, .to = line_end};

	if (forth(line, line_end, LINE_CHARS) == line_end)
		return window;
	window.from = back(caret, line, CHARS_AHEAD);
	window.to = forth(window.from, line_end, LINE_CHARS);
	window.cut_before = window.from > line;
	window.cut_after = window.to < line_end;
	return window;
}

static void put_line(struct strbuf *out, const struct window *window)
{
	strbuf_puts(out, INDENT);
	if (window->cut_before)
		strbuf_puts(out, ELLIPSIS);
	for (const char *at = window->from; at < window->to; at += step(at)) {
		size_t length = *at == '\t' ? 1 : excerpt_printable(at);
		if (length)
			strbuf_add(out, at, length);
		else
			strbuf_puts(out, UTF8_REPLACEMENT);
	}
	strbuf_puts(out, window->cut_after ? ELLIPSIS "\n" : "\n");
}

static void put_times(struct strbuf *out, char c, int times)
{
	while (times-- > 0)
		strbuf_putc(out, c);
}

static void put_caret(struct strbuf *out, const struct window *window, const char *start,
		      const char *end)
{
	strbuf_puts(out, INDENT);
	put_times(out, ' ', window->cut_before);
	for (const char *at = window->from; at < start; at += step(at)) {
		if (*at == '\t')
			strbuf_putc(out, '\t'); /* the same stops as in the line above */
		else
			put_times(out, ' ', columns(at));
	}
	strbuf_putc(out, '^');
	int width = 0;
	for (const char *at = start; at < end && at < window->to; at += step(at))
		width += columns(at);
	put_times(out, '~', width - 1);
	strbuf_putc(out, '\n');
}

void excerpt_put(struct strbuf *out, const char *text, size_t length, size_t start, size_t end)
{
	const char *text_end = text + length;
	const char *caret = text + (start < length ? start : length);
	const char *before = memrchr(text, '\n', (size_t)(caret - text));
	const char *line = before ? before + 1 : text;
	const char *line_end = memchr(caret, '\n', (size_t)(text_end - caret));

	if (!line_end)
		line_end = text_end;
	const char *shown_end = line_end;
	while (shown_end > line &&
	       (shown_end[-1] == ' ' || shown_end[-1] == '\t' || shown_end[-1] == '\r'))
		shown_end--;
	if (shown_end == line)
		return;
	if (shown_end < caret)
		shown_end = caret;
	struct window window = choose_window(line, shown_end, caret);
	put_line(out, &window);
	put_caret(out, &window, caret, text + (end < length ? end : length));
}
