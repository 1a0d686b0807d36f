/* Requests as bytes, responses as bytes. */
#include "client.h"

#include <zlib.h>

#include "http/request.h"

static int setup(void **state)
{
	struct http_options options = default_options();

	atomic_store(&slow_release, 1);
	*state = start_server(&options);
	return 0;
}

static int teardown(void **state)
{
	http_stop(*state);
	return 0;
}

#define SMALL_HEADERS                                                                              \
	"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n"

/* The same lines, whatever their order: that is the library's business. */
static void expect(void **state, const char *request, const char *response)
{
	char *got = exchange(*state, request);
	char *want = strdup(response);
	char *rest = want;

	assert_int_equal(strlen(got), strlen(response));
	for (char *line; (line = strsep(&rest, "\r"));)
		assert_has(got, line);
	free(want);
	free(got);
}

static void get_http_1_1(void **state)
{
	expect(state, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	       "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n" SMALL_HEADERS
	       "\r\nup 1\n");
}

/* Known length, no chunks, and the end of the connection. */
static void get_http_1_0(void **state)
{
	char *got = exchange(*state, "GET /metrics HTTP/1.0\r\n\r\n");

	assert_has(got, "Connection: close\r\n");
	assert_has(got, "Content-Length: 5\r\n");
	assert_lacks(got, "Transfer-Encoding");
	assert_lacks(got, "Server:");
	assert_has(got, "\r\n\r\nup 1\n");
	free(got);
}

static void head_has_the_headers_of_get(void **state)
{
	static const char *const paths[] = {"/metrics", "/big", "/nothing"};
	char request[256];

	for (size_t i = 0; i < 6; i++) {
		const char *coding = i < 3 ? "identity" : "gzip";
		snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n"
			 "Connection: close\r\n\r\n",
			 paths[i % 3], coding);
		char *get = exchange(*state, request);
		snprintf(request, sizeof(request),
			 "HEAD %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n"
			 "Connection: close\r\n\r\n",
			 paths[i % 3], coding);
		char *head = exchange(*state, request);
		char *body = strstr(get, "\r\n\r\n") + 4;
		assert_has(head, "Content-Length: ");
		*body = '\0';
		assert_string_equal(head, get);
		free(get);
		free(head);
	}
}

static void not_found(void **state)
{
	static const char *const targets[] = {"/nope",	    "//metrics",   "/metrics/", "/METRICS",
					      "/metrics/x", "/%2fmetrics", "*",		"metrics"};
	char request[256];

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", targets[i]);
		expect(state, request,
		       "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 10\r\n"
		       "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
		       "\r\nnot found\n");
	}
}

static void wrong_methods(void **state)
{
	static const char *const methods[] = {"POST",  "PUT", "DELETE", "OPTIONS",
					      "PATCH", "get", "TRACE",	"BREW"};
	char request[256];

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		snprintf(request, sizeof(request),
			 "%s /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			 methods[i]);
		char *got = exchange(*state, request);
		assert_starts(got, "HTTP/1.1 405 Method Not Allowed\r\n");
		assert_has(got, "\r\nAllow: GET, HEAD\r\n");
		assert_has(got, "\r\n\r\nmethod not allowed\n");
		free(got);
	}
	char *got = exchange(*state, "DELETE /echo HTTP/1.0\r\n\r\n");
	assert_has(got, "\r\nAllow: GET, HEAD, PUT, POST\r\n");
	free(got);
}

static void routes_see_the_request(void **state)
{
	static const struct {
		const char *request, *body;
	} cases[] = {
		{"GET /echo?a=/x&b=%00 HTTP/1.0\r\n\r\n", "GET /echo accept=(none)\n"},
		{"GET /%65ch%6F HTTP/1.0\r\naccept: a\r\nACCEPT: b;q=1\r\n\r\n",
		 "GET /echo accept=a, b;q=1\n"},
		{"GET http://any.host:80/echo?q HTTP/1.0\r\nAccept: \r\n\r\n",
		 "GET /echo accept=\n"},
		{"POST /echo HTTP/1.0\r\nContent-Length: 0\r\n\r\n", "POST /echo accept=(none)\n"},
		{"PUT /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "PUT /echo accept=(none)\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = exchange(*state, cases[i].request);
		assert_has(got, " 202 Accepted\r\n");
		assert_string_equal(strstr(got, "\r\n\r\n") + 4, cases[i].body);
		free(got);
	}
}

static void targets_with_bad_escapes(void **state)
{
	static const char *const targets[] = {"/metrics%00", "/metrics%00x", "/%",
					      "/%4",	     "/%zz",	     "/metrics%"};
	char request[256];

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", targets[i]);
		char *got = exchange(*state, request);
		assert_has(got, " 400 Bad Request\r\n");
		free(got);
	}
}

static void paths_of_targets(void **state)
{
	static const struct {
		const char *target, *path;
	} cases[] = {
		{"/", "/"},
		{"", "/"},
		{"?x", "/"},
		{"/a?b?c", "/a"},
		{"http://h", "/"},
		{"http://h?x", "/"},
		{"HTTPS://h:1/a/b", "/a/b"},
		{"http:///a", "/a"},
		{"/%41%2f%2F%25", "/A//%"},
		{"/%25%30%30", "/%00"},
		{"/a%", NULL},
		{"/a%1", NULL},
		{"/%00", NULL},
		{"/http://x", "/http://x"},
	};
	char target[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(target, sizeof(target), "%s", cases[i].target);
		const char *path = request_path(target);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

static void keep_alive_and_pipelining(void **state)
{
	int fd = dial(*state);
	struct strbuf response;

	strbuf_init(&response);
	for (int i = 0; i < 10; i++) {
		send_text(fd, i % 2 ? "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
				    : "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
		receive_one(fd, !(i % 2), &response);
		assert_starts(response.text, "HTTP/1.1 200 OK\r\n");
		strbuf_clear(&response);
	}
	send_text(fd,
		  "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /nope HTTP/1.1\r\nHost: x\r\n\r\n"
		  "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	receive_all(fd, &response);
	char *second = strstr(response.text + 1, "HTTP/1.1 404");
	assert_non_null(second);
	assert_has(second, "HTTP/1.1 200 OK\r\n");
	assert_int_equal(strcmp(response.text + response.length - 5, "up 1\n"), 0);
	strbuf_fini(&response);
	close(fd);
}

/* `printf … | nc` closes its sending side at once. */
static void half_closed_client_is_answered(void **state)
{
	int fd = dial(*state);
	struct strbuf response;

	strbuf_init(&response);
	send_text(fd, "GET /big HTTP/1.0\r\n\r\n");
	shutdown(fd, SHUT_WR);
	receive_all(fd, &response);
	assert_true(response.length > BIG_BODY_BYTES);
	strbuf_fini(&response);
	close(fd);
}

static void bodies_are_dropped(void **state)
{
	static const char *const requests[] = {
		"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
		"Connection: close\r\n\r\nhello",
		"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
		"Connection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	};

	for (size_t i = 0; i < 2; i++) {
		char *got = exchange(*state, requests[i]);
		assert_starts(got, "HTTP/1.1 200 OK\r\n");
		assert_has(got, "\r\n\r\nup 1\n");
		free(got);
	}
}

static void bodies_are_bounded(void **state)
{
	char *got = exchange(*state, "POST /echo HTTP/1.1\r\nHost: x\r\n"
				     "Content-Length: 99999999999999999999\r\n\r\n");
	assert_starts(got, "HTTP/1.1 4");
	free(got);
	got = exchange(*state, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n");
	assert_starts(got, "HTTP/1.1 413 ");
	free(got);

	int fd = dial(*state);
	struct strbuf chunk, response;
	strbuf_init(&chunk);
	strbuf_init(&response);
	strbuf_puts(&chunk, "1000\r\n");
	for (int i = 0; i < 0x1000; i++)
		strbuf_putc(&chunk, 'x');
	strbuf_puts(&chunk, "\r\n");
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 64; i++)
		send_text(fd, chunk.text);
	receive_all(fd, &response);
	assert_int_equal(response.length, 0);
	strbuf_fini(&chunk);
	strbuf_fini(&response);
	close(fd);
}

static void expect_100_continue(void **state)
{
	int fd = dial(*state);
	struct strbuf response;

	strbuf_init(&response);
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
		      "Content-Length: 3\r\nConnection: close\r\n\r\n");
	receive_one(fd, 0, &response);
	assert_starts(response.text, "HTTP/1.1 100 Continue\r\n");
	strbuf_clear(&response);
	send_text(fd, "abc");
	receive_all(fd, &response);
	assert_starts(response.text, "HTTP/1.1 202 Accepted\r\n");
	strbuf_fini(&response);
	close(fd);
}

static void too_long_requests(void **state)
{
	struct strbuf request;

	strbuf_init(&request);
	strbuf_puts(&request, "GET /");
	for (int i = 0; i < 100000; i++)
		strbuf_putc(&request, 'a');
	strbuf_puts(&request, " HTTP/1.1\r\nHost: x\r\n\r\n");
	char *got = exchange(*state, request.text);
	assert_true(!*got || !strncmp(got, "HTTP/1.1 414 ", 13));
	free(got);
	strbuf_clear(&request);
	strbuf_puts(&request, "GET /metrics HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < 10000; i++)
		strbuf_printf(&request, "X-%d: y\r\n", i);
	strbuf_puts(&request, "\r\n");
	got = exchange(*state, request.text);
	assert_true(!*got || !strncmp(got, "HTTP/1.1 431 ", 13));
	free(got);
	strbuf_fini(&request);
	assert_scrape_works(*state);
}

/* Closed or refused, never served; and the server lives on. */
static void garbage(void **state)
{
	static const char *const requests[] = {
		"\r\n\r\n\r\nGARBAGE\r\n\r\n",
		"\x16\x03\x01\x02\x01\x01\xfc\x03\x03\n\n", /* the start of TLS */
		"GET\r\n\r\n",
		"GET /metrics HTTP/9.9\r\n\r\n",
		"GET /metrics SPDY/1.0\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /metrics HTTP/1.1\r\n\r\n", /* no Host */
		"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		char *got = exchange(*state, requests[i]);
		if (*got && strncmp(got, "HTTP/1.1 4", 10) && strncmp(got, "HTTP/1.0 4", 10) &&
		    strncmp(got, "HTTP/1.1 505", 12))
			fail_msg("%s: %.200s", requests[i], got);
		free(got);
	}
	assert_scrape_works(*state);
}

static void unpack(const char *bytes, size_t length, struct strbuf *out)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length};
	char piece[65536];
	int result;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	do {
		stream.next_out = (Bytef *)piece;
		stream.avail_out = sizeof(piece);
		result = inflate(&stream, Z_NO_FLUSH);
		assert_true(result == Z_OK || result == Z_STREAM_END);
		strbuf_add(out, piece, sizeof(piece) - stream.avail_out);
	} while (result != Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
}

static void gzip_when_asked_for(void **state)
{
	int fd = dial(*state);
	struct strbuf response, text;

	strbuf_init(&response);
	strbuf_init(&text);
	send_text(fd, "GET /big HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip\r\n\r\n");
	receive_one(fd, 1, &response);
	assert_has(response.text, "\r\nContent-Encoding: gzip\r\n");
	assert_has(response.text, "\r\nVary: Accept-Encoding\r\n");
	const char *body = strstr(response.text, "\r\n\r\n") + 4;
	unpack(body, response.length - (size_t)(body - response.text), &text);
	assert_int_equal(text.length, BIG_BODY_BYTES);
	assert_starts(text.text, "0123456789abcde\n0123");
	strbuf_fini(&response);
	strbuf_fini(&text);
	close(fd);
}

static void identity_otherwise(void **state)
{
	char *got = exchange(*state, "GET /big HTTP/1.0\r\nAccept-Encoding: gzip;q=0\r\n\r\n");

	assert_lacks(got, "Content-Encoding");
	assert_has(got, "\r\nContent-Length: 1048576\r\n");
	assert_has(got, "\r\nVary: Accept-Encoding\r\n");
	free(got);
	got = exchange(*state, "GET /metrics HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
	assert_lacks(got, "Content-Encoding");
	assert_has(got, "\r\n\r\nup 1\n");
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_http_1_1),
		cmocka_unit_test(get_http_1_0),
		cmocka_unit_test(head_has_the_headers_of_get),
		cmocka_unit_test(not_found),
		cmocka_unit_test(wrong_methods),
		cmocka_unit_test(routes_see_the_request),
		cmocka_unit_test(targets_with_bad_escapes),
		cmocka_unit_test(paths_of_targets),
		cmocka_unit_test(keep_alive_and_pipelining),
		cmocka_unit_test(half_closed_client_is_answered),
		cmocka_unit_test(bodies_are_dropped),
		cmocka_unit_test(bodies_are_bounded),
		cmocka_unit_test(expect_100_continue),
		cmocka_unit_test(too_long_requests),
		cmocka_unit_test(garbage),
		cmocka_unit_test(gzip_when_asked_for),
		cmocka_unit_test(identity_otherwise),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
