/*
 * Structured log lines on stderr: `ts=… level=info msg="probe attached" target=postgres …` or
 * the same as one JSON object. One event is one line, written with one write(2).
 *
 *     log_info("probe attached", LOG_STR("target", t->name), LOG_HEX("offset", p->offset));
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

enum log_type { LOG_TYPE_END, LOG_TYPE_STR, LOG_TYPE_INT, LOG_TYPE_HEX, LOG_TYPE_DOUBLE };

struct log_field {
	enum log_type type;
	const char *key;
	union {
		const char *str; /* NULL: the field is left out */
		int64_t i64;
		uint64_t u64;
		double f64;
	};
};

#define LOG_STR(k, v)	 ((struct log_field){.type = LOG_TYPE_STR, .key = (k), .str = (v)})
#define LOG_INT(k, v)	 ((struct log_field){.type = LOG_TYPE_INT, .key = (k), .i64 = (int64_t)(v)})
#define LOG_HEX(k, v)	 ((struct log_field){.type = LOG_TYPE_HEX, .key = (k), .u64 = (uint64_t)(v)})
#define LOG_DOUBLE(k, v) ((struct log_field){.type = LOG_TYPE_DOUBLE, .key = (k), .f64 = (v)})

void log_setup(enum log_level least, enum log_format format);
/* Names as on the command line; -EINVAL for an unknown one. */
int log_level_parse(const char *name, enum log_level *level);
int log_format_parse(const char *name, enum log_format *format);
int log_enabled(enum log_level level);

/*
 * `fields` ends with LOG_TYPE_END. Thread-safe. errno is kept. Never waits for the log's reader:
 * lines that it does not take are dropped, and their number is told when it does.
 */
void log_emit(enum log_level level, const char *msg, const struct log_field *fields);

#define log_at(level, msg, ...)                                                                    \
	log_emit((level), (msg),                                                                   \
		 (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.type = LOG_TYPE_END}})
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)

struct strbuf;
/* Write one line, newline included, into `out`: what log_emit does, for tests. `ts` is given. */
void log_render(struct strbuf *out, enum log_format format, const char *ts, enum log_level level,
		const char *msg, const struct log_field *fields);

#endif
