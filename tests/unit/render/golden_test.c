/*
 * Golden scrapes: a snapshot with every type and every awkward value against the exact bytes of
 * both text formats in tests/golden/, and hostile label values against the formats' grammar.
 * After an intended change, `UPDATE_GOLDEN=1 build/gcc-asan/tests/unit/render/golden_test` from
 * the top folder writes the files anew; the difference is then the change to review.
 */
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render/render.h"
#include "tests/unit/render/comma_locale.h"
#include "tests/unit/render/grammar.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define U64(v)                                                                                     \
	{                                                                                          \
		.kind = VALUE_U64, .u64 = (v)                                                      \
	}
#define F64(v)                                                                                     \
	{                                                                                          \
		.kind = VALUE_DOUBLE, .f64 = (v)                                                   \
	}
#define NS(v)                                                                                      \
	{                                                                                          \
		.kind = VALUE_NS, .u64 = (v)                                                       \
	}
#define SERIES(array) .series = (array), .n_series = COUNT(array)
#define LABELS(array) .labels = (array), .n_labels = COUNT(array)

/* ---- the snapshot ---- */

static const struct label pg_run[] = {{"target", "postgres"}, {"function", "PortalRun"}};
static const struct label cxx[] = {
	{"target", "app"},
	{"function", "ns::map<int, char>::operator\"\"_x(char const*)"},
	{"team", "C:\\new\nline"},
};
static const struct label raw[] = {{"target", "a\xff\xfez"}, {"function", "\xc3\xa9\xe2\x82\xac"}};

static const uint64_t bounds[] = {1000,	      2500,	   25000,	 100000000,
				  1000000000, 10000000000, 8796093022208};
static const uint64_t counts[] = {3, 0, 1, 0, 9007199254740993, 2, 1, 4};
static const uint64_t zeros[COUNT(counts)];
static const uint64_t all_above[] = {7};

static const struct histogram busy = {.bound_ns = bounds,
				      .bucket = counts,
				      .n_bounds = COUNT(bounds),
				      .count = 9007199254741004,
				      .sum_ns = 9007199254740993};
static const struct histogram idle = {
	.bound_ns = bounds, .bucket = zeros, .n_bounds = COUNT(bounds)};
static const struct histogram boundless = {.bucket = all_above, .count = 7, .sum_ns = 1};

static const struct series durations[] = {
	{LABELS(pg_run), .histogram = &busy, .created_unix = 1.7e9},
	{LABELS(cxx), .histogram = &idle},
	{LABELS(raw), .histogram = &boundless},
};
static const struct series calls[] = {
	{LABELS(pg_run), .value = U64(UINT64_MAX), .created_unix = 1.7e9},
	{LABELS(cxx), .value = U64(1287408)},
	{LABELS(raw), .value = U64(0)},
};
static const struct series cpu[] = {{.value = F64(12.47)}};
static const struct series stopped[] = {{.value = NS(1500000001)}};
static const struct series bytes[] = {{.value = F64(400000000000000)}};
static const struct series infos[] = {{LABELS(pg_run), .value = U64(1)}};

static const char *const odd_names[] = {"nan",	 "inf",	 "minf", "neg",	 "tiny",
					"third", "2^53", "1e21", "mzero"};
static struct label odd_labels[COUNT(odd_names)];
static struct series odd[COUNT(odd_names)] = {
	{.value = F64(NAN)},	{.value = F64(INFINITY)}, {.value = F64(-INFINITY)},
	{.value = F64(-2.5)},	{.value = F64(1e-07)},	  {.value = F64(1.0 / 3)},
	{.value = F64(0x1p53)}, {.value = F64(1e21)},	  {.value = F64(-0.0)},
};

static const struct family families[] = {
	{.name = "uprobe_function_duration_seconds",
	 .help = "Time from entry to return.",
	 .unit = "seconds",
	 .type = FAMILY_HISTOGRAM,
	 SERIES(durations)},
	{.name = "uprobe_function_calls_total",
	 .help = "Calls; \"quoted\", back\\slash,\nnew line, \xff.",
	 .type = FAMILY_COUNTER,
	 SERIES(calls)},
	{.name = "process_cpu_seconds_total",
	 .help = "CPU time.",
	 .unit = "seconds",
	 .type = FAMILY_COUNTER,
	 SERIES(cpu)},
	{.name = "stopped_seconds",
	 .help = "A gauge in nanoseconds.",
	 .unit = "seconds",
	 .type = FAMILY_GAUGE,
	 SERIES(stopped)},
	{.name = "memory_size",
	 .help = "A unit that the name does not end with is not written.",
	 .unit = "bytes",
	 .type = FAMILY_GAUGE,
	 SERIES(bytes)},
	{.name = "uprobe_exporter_probe_info", .help = "Info.", .type = FAMILY_INFO, SERIES(infos)},
	{.name = "odd_values", .help = "Doubles of every kind.", .type = FAMILY_GAUGE, SERIES(odd)},
};

static const struct snapshot snapshot = {.families = families, .n_families = COUNT(families)};

static int name_odd_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(odd); i++) {
		odd_labels[i] = (struct label){"value", odd_names[i]};
		odd[i].labels = &odd_labels[i];
		odd[i].n_labels = 1;
	}
	return 0;
}

/* ---- golden files ---- */

static const struct {
	const char *renderer, *path;
	enum grammar_format grammar;
} formats[] = {
	{"text", "tests/golden/every_type.prom", GRAMMAR_TEXT},
	{"openmetrics", "tests/golden/every_type.om", GRAMMAR_OPENMETRICS},
};

static char *render(const char *format, const struct snapshot *of)
{
	struct strbuf out;

	strbuf_init(&out);
	render_find(format)->render(of, &out);
	assert_int_equal(strlen(strbuf_text(&out)), out.length);
	return strbuf_take(&out);
}

static void write_golden(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_golden(const char *path, const char *text)
{
	char *wanted = calloc(1, 1 << 16);
	FILE *file = fopen(path, "re");

	if (!file)
		fail_msg("%s: cannot be opened; run from the top folder", path);
	assert_true(fread(wanted, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	assert_string_equal(text, wanted);
	free(wanted);
}

static void every_type_is_as_the_golden_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(formats); i++) {
		char *text = render(formats[i].renderer, &snapshot);
		if (getenv("UPDATE_GOLDEN"))
			write_golden(formats[i].path, text);
		assert_golden(formats[i].path, text);
		grammar_check(formats[i].grammar, text);
		free(text);
	}
}

static void no_locale_changes_a_byte(void **state)
{
	(void)state;
	comma_locale_begin();
	for (size_t i = 0; i < COUNT(formats); i++) {
		char *text = render(formats[i].renderer, &snapshot);
		assert_golden(formats[i].path, text);
		free(text);
	}
}

/* ---- hostile labels ---- */

static const char *const hostile[] = {
	"",
	" ",
	"\"",
	"\\",
	"\n",
	"\\n",
	"\\\"",
	"\"} 1\nfake_metric 1",
	"a\\",
	"\xff",
	"\xc0\xaf",
	"\xed\xa0\x80",
	"\xf4\x90\x80\x80",
	"\xe2\x82",
	"\r",
	"\t",
	"\x01",
	"{}",
	",",
	"# EOF",
	"=",
	"\xe2\x80\xa8",
	"\xf0\x9f\x98\x80",
};

static void check_hostile(const char *value)
{
	const struct label labels[] = {{"target", value}, {"function", value}};
	const struct series histogram[] = {{LABELS(labels), .histogram = &busy}};
	const struct series counter[] = {{LABELS(labels), .value = U64(1)}};
	const struct family all[] = {
		{.name = "a_seconds",
		 .help = value,
		 .unit = "seconds",
		 .type = FAMILY_HISTOGRAM,
		 SERIES(histogram)},
		{.name = "b_total", .help = value, .type = FAMILY_COUNTER, SERIES(counter)},
		{.name = "c_info", .help = value, .type = FAMILY_INFO, SERIES(counter)},
	};
	const struct snapshot of = {.families = all, .n_families = COUNT(all)};

	for (size_t i = 0; i < COUNT(formats); i++) {
		char *text = render(formats[i].renderer, &of);
		assert_int_equal(grammar_check(formats[i].grammar, text),
				 COUNT(bounds) + 1 + 2 + 2);
		assert_null(strstr(text, "\nfake_metric"));
		free(text);
	}
}

static void hostile_labels_keep_the_grammar(void **state)
{
	char longest[301];

	(void)state;
	for (size_t i = 0; i < COUNT(hostile); i++)
		check_hostile(hostile[i]);
	memset(longest, '"', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_hostile(longest);
	memset(longest, 0xff, sizeof(longest) - 1);
	check_hostile(longest);
}

static void any_bytes_keep_the_grammar(void **state)
{
	static const char alphabet[] = "\"\\\n{},=# ea\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	char value[16];

	(void)state;
	srand(7);
	for (int round = 0; round < 3000; round++) {
		size_t n = (size_t)rand() % sizeof(value);
		for (size_t i = 0; i < n; i++)
			value[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		value[n < sizeof(value) ? n : n - 1] = '\0';
		check_hostile(value);
	}
}

static void an_empty_snapshot_is_still_a_scrape(void **state)
{
	const struct snapshot empty = {.n_families = 0};
	char *text = render("text", &empty), *openmetrics = render("openmetrics", &empty);

	(void)state;
	assert_string_equal(text, "");
	assert_string_equal(openmetrics, "# EOF\n");
	free(text);
	free(openmetrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_as_the_golden_file),
		cmocka_unit_test_teardown(no_locale_changes_a_byte, comma_locale_end),
		cmocka_unit_test(hostile_labels_keep_the_grammar),
		cmocka_unit_test(any_bytes_keep_the_grammar),
		cmocka_unit_test(an_empty_snapshot_is_still_a_scrape),
	};

	return cmocka_run_group_tests(tests, name_odd_values, NULL);
}
