/* Which format an Accept header gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/render.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OM	 "application/openmetrics-text"
#define PROTOBUF                                                                                   \
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"                 \
	"encoding=delimited"

struct example {
	const char *accept, *wanted;
};

static void check(const struct example *examples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = render_negotiate(examples[i].accept)->name;
		if (strcmp(got, examples[i].wanted) != 0)
			fail_msg("%s: got %s, wanted %s", examples[i].accept, got,
				 examples[i].wanted);
	}
}

/* What the scrapers of the world really send. */
static const struct example scrapers[] = {
	/* Prometheus 2.42 */
	{OM ";version=1.0.0," OM ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	 "openmetrics"},
	/* 2.42 with native histograms: protobuf is not offered, so the next best */
	{PROTOBUF "," OM ";version=1.0.0;q=0.8," OM
		  ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	 "openmetrics"},
	/* 2.53 */
	{OM ";version=1.0.0;q=0.5," OM
	    ";version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	 "openmetrics"},
	/* 3.5 */
	{OM ";version=1.0.0;escaping=allow-utf-8;q=0.6," OM
	    ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
	    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	 "openmetrics"},
	/* 2.53, protobuf first */
	{PROTOBUF ";q=0.5," OM ";version=1.0.0;q=0.4," OM
		  ";version=0.0.1;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
	 "openmetrics"},
	/* 3.5, protobuf first */
	{PROTOBUF ";q=0.6," OM ";version=1.0.0;escaping=allow-utf-8;q=0.5," OM
		  ";version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
		  "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
	 "openmetrics"},
	/* 3.0.0: `escaping` everywhere, twice on one */
	{OM ";version=1.0.0;escaping=allow-utf-8;q=0.5;escaping=allow-utf-8," OM
	    ";version=0.0.1;escaping=allow-utf-8;q=0.4,"
	    "text/plain;version=1.0.0;escaping=allow-utf-8;escaping=allow-utf-8;q=0.3,"
	    "text/plain;version=0.0.4;escaping=allow-utf-8;q=0.2,*/*;escaping=allow-utf-8;q=0.1",
	 "openmetrics"},
	/* scrape_protocols: [PrometheusText0.0.4] */
	{"text/plain;version=0.0.4;q=0.5,*/*;q=0.4", "text"},
	/* curl, a browser, Java's HttpURLConnection */
	{"*/*", "text"},
	{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text"},
	{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text"},
	/* only what is not offered */
	{PROTOBUF, "text"},
	{"text/plain;version=1.0.0;escaping=allow-utf-8", "text"},
	{OM ";version=2.0.0", "text"},
	{OM ";version=0.0.1", "openmetrics-0.0.1"},
	{OM, "openmetrics"},
	{NULL, "text"},
	{"", "text"},
};

static void scrapers_get_what_they_read_best(void **state)
{
	(void)state;
	check(scrapers, COUNT(scrapers));
}

static const struct example weights[] = {
	{OM ";q=0.4,text/plain;q=0.5", "text"},
	{OM ";q=0.5,text/plain;q=0.4", "openmetrics"},
	{"text/plain;q=0.4," OM ";q=0.401", "openmetrics"},
	{OM ";version=0.0.1;q=0.9," OM ";version=1.0.0;q=0.8", "openmetrics-0.0.1"},
	{OM ";q=0", "text"},
	{OM ";q=0.0,text/plain;q=0", "text"},
	{OM ";q=0.000;version=1.0.0,*/*", "text"},
	{OM ";q=0.1,text/plain;q=0", "openmetrics"},
	{OM ";q=0.1,text/plain;q=0,*/*", "openmetrics"}, /* the closer range counts */
	{OM ";q=0.1,text/*;q=0,*/*", "openmetrics"},
	{OM ";version=1.0.0;q=0," OM, "text"}, /* 1.0.0 is excluded, which nothing undoes */
	{OM ";q=0.2,*/*;q=0.9", "text"},
	{OM ";q=0.2,text/*;q=0.3", "text"},
	{OM ";q=1.000,text/plain", "openmetrics"}, /* equal: the first */
	{"text/plain," OM, "text"},
	{"*/*," OM, "openmetrics"}, /* equal: the one that is named */
	{"text/*," OM, "openmetrics"},
	{"application/*", "text"}, /* not named */
	{"application/*;q=1,*/*;q=0.1", "text"},
	{OM ";q=.5,text/plain;q=0.4", "openmetrics"},
	{OM ";q=1.,text/plain;q=0.9", "openmetrics"},
	{"text/plain;q=0.1,text/plain;q=0.9," OM ";q=0.5", "text"}, /* the better of two */
};

static void weights_decide(void **state)
{
	(void)state;
	check(weights, COUNT(weights));
}

static const struct example spellings[] = {
	{"APPLICATION/OpenMetrics-Text;VERSION=1.0.0;Q=0.5,TEXT/PLAIN;q=0.4", "openmetrics"},
	{"  application/openmetrics-text \t; \t version=1.0.0 ; q=0.5 , text/plain ; q=0.4 ",
	 "openmetrics"},
	{OM ";version=\"1.0.0\"", "openmetrics"},
	{OM ";version=\"1.\\0.0\"", "openmetrics"},
	{OM ";x=\"a,b;q=0\";q=0.9,text/plain;q=0.5", "openmetrics"},
	{OM ";x=\"\\\",text/plain\";q=0.9,text/plain;q=0.5", "openmetrics"},
	{",,, ," OM ",,", "openmetrics"},
	{OM ";;q=0.9;,text/plain;q=0.5", "openmetrics"},
	{OM ";charset=utf-8;q=0.9,text/plain;q=0.5", "openmetrics"},
	{OM ";q=0.1;q=0.9,text/plain;q=0.5", "text"}, /* the first counts */
	{OM ";version=1.0.0;version=9,"
	    "text/plain;q=0.5",
	 "openmetrics"},
	{OM ";version=\"1.0.0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"", "text"},
};

static void spelling_is_free(void **state)
{
	(void)state;
	check(spellings, COUNT(spellings));
}

/* A malformed part is passed over; the others count. */
static const struct example malformed[] = {
	{OM ";q=2,text/plain;q=0.1", "text"},
	{OM ";q=-1,text/plain;q=0.1", "text"},
	{OM ";q=x,text/plain;q=0.1", "text"},
	{OM ";q=,text/plain;q=0.1", "text"},
	{OM ";q,text/plain;q=0.1", "text"},
	{OM ";q=.,text/plain;q=0.1", "text"},
	{OM ";q=nan,text/plain;q=0.1", "text"},
	{OM ";q=1.1,text/plain;q=0.1", "text"},
	{OM ";q=0,5,text/plain", "text"}, /* a comma for a point */
	{OM ";q=99999999999999999999999,text/plain;q=0.1", "text"},
	{OM ";q=0.00000000000000000000000000001,text/plain;q=0", "text"},
	{"text," OM ";q=0.2", "openmetrics"},
	{"/," OM ";q=0.2", "openmetrics"},
	{"text/," OM ";q=0.2", "openmetrics"},
	{"*/plain," OM ";q=0.2", "openmetrics"},
	{"text/plain/x," OM ";q=0.2", "openmetrics"},
	{"text plain," OM ";q=0.2", "openmetrics"},
	{"\xff\xfe," OM ";q=0.2", "openmetrics"},
	{"a/b;c=\"," OM, "text"}, /* the quote never ends */
	{OM "x", "text"},
	{OM " x", "text"},
	{"\"", "text"},
	{";", "text"},
	{";q=1", "text"},
	{",", "text"},
	{"*", "text"},
	{"\\", "text"},
};

static void malformed_parts_are_passed_over(void **state)
{
	(void)state;
	check(malformed, COUNT(malformed));
}

/* Whatever bytes come, it ends, reads nothing outside, and answers. */
static void any_bytes_get_an_answer(void **state)
{
	static const char alphabet[] = "*/;,=\"\\ \tq.01atextplin-\xff";

	(void)state;
	srand(3);
	for (int round = 0; round < 100000; round++) {
		size_t n = (size_t)rand() % 40;
		char *accept = calloc(1, n + 1); /* exact, for the sanitizer */
		for (size_t i = 0; i < n; i++)
			accept[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		assert_non_null(render_negotiate(accept));
		free(accept);
	}
}

static void a_long_header_is_no_trouble(void **state)
{
	enum { PARTS = 20000 };
	char *accept = malloc(PARTS * 12 + 64), *end = accept;

	(void)state;
	for (int i = 0; i < PARTS; i++)
		end = stpcpy(end, "a/b;c=\"d\",");
	strcpy(end, OM);
	assert_string_equal(render_negotiate(accept)->name, "openmetrics");
	free(accept);
}

static void content_types_are_those_of_the_formats(void **state)
{
	(void)state;
	assert_string_equal(render_find("text")->content_type,
			    "text/plain; version=0.0.4; charset=utf-8");
	assert_string_equal(render_find("openmetrics")->content_type,
			    OM "; version=1.0.0; charset=utf-8");
	assert_string_equal(render_negotiate(OM ";version=0.0.1")->content_type,
			    OM "; version=0.0.1; charset=utf-8");
	assert_null(render_find("nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scrapers_get_what_they_read_best),
		cmocka_unit_test(weights_decide),
		cmocka_unit_test(spelling_is_free),
		cmocka_unit_test(malformed_parts_are_passed_over),
		cmocka_unit_test(any_bytes_get_an_answer),
		cmocka_unit_test(a_long_header_is_no_trouble),
		cmocka_unit_test(content_types_are_those_of_the_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
