/* Log lines in logfmt and JSON. */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/strbuf.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *const format_names[] = {"logfmt", "json"};

static enum log_level least_level = LOG_LEVEL_INFO;
static enum log_format line_format = LOG_FORMAT_LOGFMT;

void log_setup(enum log_level least, enum log_format format)
{
	least_level = least;
	line_format = format;
}

static int name_index(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -EINVAL;
}

int log_level_parse(const char *name, enum log_level *level)
{
	int i = name_index(level_names, 4, name);

	if (i < 0)
		return i;
	*level = (enum log_level)i;
	return 0;
}

int log_format_parse(const char *name, enum log_format *format)
{
	int i = name_index(format_names, 2, name);

	if (i < 0)
		return i;
	*format = (enum log_format)i;
	return 0;
}

int log_enabled(enum log_level level)
{
	return level >= least_level;
}

/* logfmt quotes a value with blanks, quotes, `=`, control characters, or none at all. */
static int needs_quotes(const char *value)
{
	if (!*value)
		return 1;
	for (const unsigned char *c = (const unsigned char *)value; *c; c++)
		if (*c <= ' ' || *c == '"' || *c == '=' || *c == '\\' || *c >= 0x7f)
			return 1;
	return 0;
}

static void put_string(struct strbuf *out, enum log_format format, const char *value)
{
	if (format == LOG_FORMAT_JSON || needs_quotes(value))
		json_put_string(out, value);
	else
		strbuf_puts(out, value);
}

static void put_key(struct strbuf *out, enum log_format format, const char *key, int first)
{
	if (format == LOG_FORMAT_JSON) {
		strbuf_puts(out, first ? "{" : ",");
		json_put_string(out, key);
		strbuf_putc(out, ':');
	} else {
		strbuf_printf(out, "%s%s=", first ? "" : " ", key);
	}
}

static void put_field(struct strbuf *out, enum log_format format, const struct log_field *field)
{
	char text[64];

	if (field->type == LOG_TYPE_STR && !field->str)
		return;
	put_key(out, format, field->key, 0);
	switch (field->type) {
	case LOG_TYPE_STR:
		put_string(out, format, field->str);
		break;
	case LOG_TYPE_INT:
		strbuf_printf(out, "%lld", (long long)field->i64);
		break;
	case LOG_TYPE_HEX: /* JSON has no hexadecimal numbers: a string there */
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)field->u64);
		put_string(out, format, text);
		break;
	case LOG_TYPE_DOUBLE:
		strbuf_printf(out, "%.6g", field->f64);
		break;
	case LOG_TYPE_END:
		break;
	}
}

void log_render(struct strbuf *out, enum log_format format, const char *ts, enum log_level level,
		const char *msg, const struct log_field *fields)
{
	put_key(out, format, "ts", 1);
	put_string(out, format, ts);
	put_key(out, format, "level", 0);
	put_string(out, format, level_names[level]);
	put_key(out, format, "msg", 0);
	put_string(out, format, msg);
	for (; fields->type != LOG_TYPE_END; fields++)
		put_field(out, format, fields);
	strbuf_puts(out, format == LOG_FORMAT_JSON ? "}\n" : "\n");
}

static void timestamp(char *text, size_t room)
{
	struct timespec now;
	struct tm tm;
	char seconds[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, room, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* The last line has no end, for the reader stopped in the middle of it. */
static atomic_bool line_is_cut;

/* Whether something can be written without waiting: a log must not hold up what it tells of. */
static int reader_keeps_up(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) != 0;
}

/* In pieces: what a pipe has room for is PIPE_BUF bytes, when it has any. */
static void write_all(const char *bytes, size_t length)
{
	while (length > 0) {
		size_t piece = length < PIPE_BUF ? length : PIPE_BUF;
		if (!reader_keeps_up()) {
			atomic_store(&line_is_cut, true);
			return;
		}
		ssize_t n = write(STDERR_FILENO, bytes, piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* the log's reader is gone: nobody to tell */
		bytes += n;
		length -= (size_t)n;
	}
}

/* Lines that were not written since the reader of the log does not read. */
static atomic_uint dropped_lines;

static void tell_dropped(struct strbuf *line, const char *ts)
{
	unsigned n = atomic_exchange(&dropped_lines, 0);
	const struct log_field fields[] = {LOG_INT("lines", n), {.type = LOG_TYPE_END}};

	if (n)
		log_render(line, line_format, ts, LOG_LEVEL_WARN,
			   "the log's reader did not keep up: lines dropped", fields);
}

void log_emit(enum log_level level, const char *msg, const struct log_field *fields)
{
	int saved = errno;
	char ts[64];
	struct strbuf line;

	if (!log_enabled(level))
		return;
	if (!reader_keeps_up()) {
		atomic_fetch_add(&dropped_lines, 1);
		return;
	}
	timestamp(ts, sizeof(ts));
	strbuf_init(&line);
	if (atomic_exchange(&line_is_cut, false))
		strbuf_putc(&line, '\n');
	tell_dropped(&line, ts);
	log_render(&line, line_format, ts, level, msg, fields);
	write_all(line.text, line.length);
	strbuf_fini(&line);
	errno = saved;
}
