/* Log lines in both formats; one event is one line, whatever its fields hold. */
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logfmt_quotes_where_it_must),
		cmocka_unit_test(json_is_one_object),
		cmocka_unit_test(names_are_parsed),
		cmocka_unit_test(levels_below_the_least_are_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
