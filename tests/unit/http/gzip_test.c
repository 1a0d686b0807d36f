/* Accept-Encoding, and that what is packed unpacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <zlib.h>

#include "base/strbuf.h"
#include "http/gzip.h"

static const struct {
	const char *header;
	bool wanted;
} headers[] = {
	{NULL, false},
	{"", false},
	{",", false},
	{"gzip", true},
	{"GZip", true},
	{"x-gzip", true},
	{"  gzip  ", true},
	{"\tgzip\t;\tq=1", true},
	{"gzip, deflate, br, zstd", true},
	{"br,gzip", true},
	{",,gzip,,", true},
	{"identity", false},
	{"br", false},
	{"gzipped", false},
	{"gzi", false},
	{"gzip;q=1", true},
	{"gzip;q=1.000", true},
	{"gzip;q=0.001", true},
	{"gzip;Q=0.5", true},
	{"gzip;q=0.", false},
	{"gzip;q=1.", true},
	{"gzip;q=0", false},
	{"gzip;q=0.0", false},
	{"gzip;q=0.000", false},
	{"gzip; q=0 , br", false},
	{"*", true},
	{"*;q=0", false},
	{"*;q=0.1", true},
	{"gzip;q=0, *", false},
	{"*;q=0, gzip", true},
	{"gzip;q=0, gzip", false},
	{"gzip, gzip;q=0", false},
	{"gzip;q=0.2, gzip;q=0.9, identity;q=0.5", true},
	{"identity;q=0", false},
	{"identity;q=0, gzip", true},
	{"identity, gzip;q=0.5", false},
	{"identity;q=0.5, gzip", true},
	{"identity;q=0.5, gzip;q=0.5", true},
	{"identity, *;q=0.5", false},
	/* malformed elements count for nothing */
	{"gzip;q=", false},
	{"gzip;q=x", false},
	{"gzip;q=2", false},
	{"gzip;q=1.1", false},
	{"gzip;q=1.0001", false},
	{"gzip;q=0.1234", false},
	{"gzip;q=-1", false},
	{"gzip;q=.5", false},
	{"gzip;q=0.5x", false},
	{"gzip;q=0.5;q=1", false},
	{"gzip;level=9", false},
	{"gzip br", false},
	{"gzip;", false},
	{";q=1", false},
	{"\xff\xfe\x01", false},
	{"gzip;q=x, gzip", true},
};

static void accept_encoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (gzip_wanted(headers[i].header) != headers[i].wanted)
			fail_msg("%s: want %d", headers[i].header, headers[i].wanted);
}

static void check_round_trip(struct strbuf *body)
{
	struct strbuf packed;
	z_stream stream = {0};
	char *text;

	strbuf_init(&packed);
	strbuf_add(&packed, strbuf_text(body), body->length);
	assert_int_equal(gzip_compress(&packed), 0);
	assert_memory_equal(packed.text, "\x1f\x8b\x08", 3);
	text = test_malloc(body->length + 1);
	stream.next_in = (Bytef *)packed.text;
	stream.avail_in = (uInt)packed.length;
	stream.next_out = (Bytef *)text;
	stream.avail_out = (uInt)body->length + 1;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, body->length);
	assert_int_equal(stream.avail_in, 0);
	assert_memory_equal(text, strbuf_text(body), body->length);
	inflateEnd(&stream);
	test_free(text);
	strbuf_fini(&packed);
}

static void round_trips(void **state)
{
	static const size_t lengths[] = {1, 1024, 65536, 3000000};
	uint32_t random = 1;
	struct strbuf body;

	(void)state;
	strbuf_init(&body);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		strbuf_clear(&body);
		while (body.length < lengths[i])
			strbuf_puts(&body, "metric{le=\"0.5\"} 1\n");
		check_round_trip(&body);
		strbuf_clear(&body); /* what does not compress grows: it must fit, too */
		while (body.length < lengths[i])
			strbuf_putc(&body, (char)((random = random * 1664525 + 1013904223) >> 24));
		check_round_trip(&body);
	}
	strbuf_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept_encoding),
		cmocka_unit_test(round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
