/* Log lines in both formats; one event is one line, whatever its fields hold. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"

#define TS	    "2025-01-02T03:04:05.678Z"
#define FIELDS(...) ((const struct log_field[]){__VA_ARGS__, {.type = LOG_TYPE_END}})

static void assert_line(enum log_format format, const struct log_field *fields, const char *wanted)
{
	struct strbuf out;

	strbuf_init(&out);
	log_render(&out, format, TS, LOG_LEVEL_WARN, "probe \"failed\"", fields);
	assert_string_equal(strbuf_text(&out), wanted);
	strbuf_fini(&out);
}

static void logfmt_quotes_where_it_must(void **state)
{
	(void)state;
	assert_line(
		LOG_FORMAT_LOGFMT,
		FIELDS(LOG_STR("target", "postgres"), LOG_STR("path", "/a b"), LOG_STR("empty", ""),
		       LOG_STR("absent", NULL), LOG_STR("eq", "a=b"),
		       LOG_STR("hostile", "x\nlevel=error \"\\\xff"), LOG_INT("n", -5),
		       LOG_HEX("offset", 0x3e1f0), LOG_DOUBLE("s", 0.25)),
		"ts=" TS " level=warn msg=\"probe \\\"failed\\\"\" target=postgres "
		"path=\"/a b\" empty=\"\" eq=\"a=b\" "
		"hostile=\"x\\nlevel=error \\\"\\\\\xef\xbf\xbd\" n=-5 offset=0x3e1f0 s=0.25\n");
}

static void json_is_one_object(void **state)
{
	(void)state;
	assert_line(LOG_FORMAT_JSON,
		    FIELDS(LOG_STR("target", "a\"b\n"), LOG_STR("absent", NULL), LOG_INT("n", 7),
			   LOG_HEX("offset", 255)),
		    "{\"ts\":\"" TS "\",\"level\":\"warn\",\"msg\":\"probe \\\"failed\\\"\","
		    "\"target\":\"a\\\"b\\n\",\"n\":7,\"offset\":\"0xff\"}\n");
}

static void names_are_parsed(void **state)
{
	enum log_level level = LOG_LEVEL_DEBUG;
	enum log_format format = LOG_FORMAT_LOGFMT;

	(void)state;
	assert_int_equal(log_level_parse("error", &level), 0);
	assert_int_equal(level, LOG_LEVEL_ERROR);
	assert_int_equal(log_level_parse("loud", &level), -EINVAL);
	assert_int_equal(log_format_parse("json", &format), 0);
	assert_int_equal(format, LOG_FORMAT_JSON);
	assert_int_equal(log_format_parse("", &format), -EINVAL);
}

/* What lands on stderr while `emit` runs. */
static size_t capture(void (*emit)(void), char *text, size_t room)
{
	int saved = dup(STDERR_FILENO), pipe_fd[2];

	assert_int_equal(pipe(pipe_fd), 0);
	dup2(pipe_fd[1], STDERR_FILENO);
	emit();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fd[1]);
	ssize_t n = read(pipe_fd[0], text, room - 1);
	close(pipe_fd[0]);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void emit_both(void)
{
	log_setup(LOG_LEVEL_WARN, LOG_FORMAT_LOGFMT);
	log_info("hidden");
	errno = EXDEV;
	log_warn("shown", LOG_INT("n", 1));
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
}

static void levels_below_the_least_are_silent(void **state)
{
	char text[512];

	(void)state;
	capture(emit_both, text, sizeof(text));
	assert_int_equal(errno, EXDEV);
	assert_null(strstr(text, "hidden"));
	assert_non_null(strstr(text, "level=warn msg=shown n=1\n"));
	assert_true(!strncmp(text, "ts=20", 5));
}

/* A pipe in place of stderr that has room for no more than `pages` writes of a page. */
struct stuck {
	int saved, reader;
	size_t stuffed; /* bytes of filling in it */
};

static struct stuck stick(size_t pages)
{
	static const char page[4096];
	struct stuck stuck = {.saved = dup(STDERR_FILENO)};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	stuck.reader = ends[0];
	size_t room = (size_t)fcntl(ends[1], F_GETPIPE_SZ) - pages * sizeof(page);
	for (; stuck.stuffed < room; stuck.stuffed += sizeof(page))
		assert_int_equal(write(ends[1], page, sizeof(page)), sizeof(page));
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	return stuck;
}

/* Read all that is in the pipe; what comes after the filling. The caller frees it. */
static char *unstick(const struct stuck *stuck)
{
	char *text = calloc(1, 1 << 20);
	size_t length = 0;
	ssize_t n;

	fcntl(stuck->reader, F_SETFL, O_NONBLOCK);
	while ((n = read(stuck->reader, text + length, (1 << 20) - 1 - length)) > 0)
		length += (size_t)n;
	assert_true(length >= stuck->stuffed);
	memmove(text, text + stuck->stuffed, length - stuck->stuffed + 1);
	memset(text + length - stuck->stuffed, 0, stuck->stuffed);
	return text;
}

static void restore(const struct stuck *stuck)
{
	dup2(stuck->saved, STDERR_FILENO);
	close(stuck->saved);
	close(stuck->reader);
}

/* The log does not wait for who does not read it, and says what was dropped, once. */
static void lines_without_a_reader_are_dropped_and_told(void **state)
{
	struct stuck stuck = stick(0);
	char *text;

	(void)state;
	alarm(20); /* a log that waits would wait for ever */
	for (int i = 0; i < 7; i++) {
		errno = EXDEV;
		log_warn("dropped", LOG_INT("i", i));
		assert_int_equal(errno, EXDEV);
	}
	log_debug("below the least level: not a line at all");
	text = unstick(&stuck);
	assert_string_equal(text, "");
	free(text);
	stuck.stuffed = 0;
	log_warn("after", LOG_INT("n", 1));
	log_warn("later");
	text = unstick(&stuck);
	restore(&stuck);
	alarm(0);
	char *told = strstr(text, "lines dropped\" lines=7\n"),
	     *after = strstr(text, "msg=after n=1\n");
	assert_non_null(told);
	assert_non_null(after);
	assert_true(told < after);
	assert_non_null(strstr(after, "msg=later\n"));
	assert_null(strstr(told + 1, "lines dropped"));
	assert_null(strstr(text, "msg=dropped"));
	free(text);
}

/* A line that is longer than the room that is left, which is not none. */
static void a_long_line_does_not_wait_either(void **state)
{
	struct stuck stuck = stick(1);
	char *value = calloc(1, 20000), *text;

	(void)state;
	memset(value, 'x', 19999);
	alarm(20);
	log_warn("long", LOG_STR("value", value));
	text = unstick(&stuck);
	stuck.stuffed = 0;
	free(text);
	log_warn("after");
	text = unstick(&stuck);
	restore(&stuck);
	alarm(0);
	assert_non_null(strstr(text, "msg=after\n"));
	free(text);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logfmt_quotes_where_it_must),
		cmocka_unit_test(json_is_one_object),
		cmocka_unit_test(names_are_parsed),
		cmocka_unit_test(levels_below_the_least_are_silent),
		cmocka_unit_test(lines_without_a_reader_are_dropped_and_told),
		cmocka_unit_test(a_long_line_does_not_wait_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
