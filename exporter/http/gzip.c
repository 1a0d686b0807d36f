/* Accept-Encoding and gzip. */
#include "http/gzip.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define WHOLE	   1000 /* qualities are counted in thousandths: they have three decimals at most */
#define UNSET	   (-1)
#define GZIP_FRAME (15 + 16) /* zlib: the largest window, gzip header and trailer */

/* Metrics are so repetitive that the fastest level already makes a tenth of them. */
#define LEVEL Z_BEST_SPEED

enum coding { CODING_GZIP, CODING_ANY, CODING_IDENTITY, CODING_COUNT };

static const struct {
	const char *name;
	enum coding coding;
} codings[] = {
	{"gzip", CODING_GZIP},
	{"x-gzip", CODING_GZIP},
	{"*", CODING_ANY},
	{"identity", CODING_IDENTITY},
};

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* qvalue = "0" ["." 0*3DIGIT] / "1" ["." 0*3("0")]; past it, or NULL when it is none. */
static const char *read_quality(const char *text, int *quality)
{
	int unit = WHOLE;

	if (*text != '0' && *text != '1')
		return NULL;
	*quality = (*text++ - '0') * unit;
	if (*text != '.')
		return text;
	for (text++; isdigit((unsigned char)*text); text++) {
		unit /= 10;
		*quality += (*text - '0') * unit;
		if (!unit)
			return NULL;
	}
	return *quality <= WHOLE ? text : NULL;
}

/* The quality of the list element that is `length` bytes long after its coding; UNSET: malformed.
 */
static int element_quality(const char *text, const char *end)
{
	int quality = WHOLE;

	text = skip_blanks(text);
	if (text == end)
		return WHOLE;
	if (*text != ';')
		return UNSET;
	text = skip_blanks(text + 1);
	if ((*text != 'q' && *text != 'Q') || text[1] != '=')
		return UNSET;
	text = read_quality(text + 2, &quality);
	return text && skip_blanks(text) == end ? quality : UNSET;
}

static void read_element(const char *text, const char *end, int *qualities)
{
	size_t length;
	int quality;

	text = skip_blanks(text);
	length = strcspn(text, " \t;,");
	quality = element_quality(text + length, end);
	if (quality == UNSET)
		return;
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		int *known = &qualities[codings[i].coding];
		if (strlen(codings[i].name) != length || strncasecmp(codings[i].name, text, length))
			continue;
		if (*known == UNSET || !quality || (*known && quality > *known))
			*known = quality;
	}
}

bool gzip_wanted(const char *accept_encoding)
{
	int qualities[CODING_COUNT] = {UNSET, UNSET, UNSET};
	int gzip;

	if (!accept_encoding)
		return false;
	for (const char *text = accept_encoding;; text++) {
		const char *end = text + strcspn(text, ",");
		read_element(text, end, qualities);
		text = end;
		if (!*text)
			break;
	}
	gzip = qualities[CODING_GZIP] == UNSET ? qualities[CODING_ANY] : qualities[CODING_GZIP];
	return gzip > 0 && gzip >= qualities[CODING_IDENTITY];
}

int gzip_compress(struct strbuf *body)
{
	z_stream stream = {0};
	char *packed;
	size_t room;

	if (body->length > UINT_MAX ||
	    deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_FRAME, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	room = deflateBound(&stream, body->length);
	packed = alloc_zero(room, 1);
	stream.next_in = (Bytef *)body->text;
	stream.avail_in = (uInt)body->length;
	stream.next_out = (Bytef *)packed;
	stream.avail_out = (uInt)room;
	int result = room <= UINT_MAX ? deflate(&stream, Z_FINISH) : Z_BUF_ERROR;
	room = stream.total_out;
	deflateEnd(&stream);
	if (result != Z_STREAM_END) {
		free(packed);
		return -ENOMEM;
	}
	strbuf_clear(body);
	strbuf_add(body, packed, room); /* smaller than before: into the same memory */
	free(packed);
	return 0;
}
