/*
 * What the readers of all keys share: where they report to, and where what they read is kept.
 */
#ifndef CONFIG_PARSER_H
#define CONFIG_PARSER_H

#include "config/draft.h"
#include "config/fields.h"
#include "config/report.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

struct parser {
	struct fields_context context;
	struct report *report;
	struct arena *arena; /* the spec's */
	struct draft *draft;
};

/* A copy that lives as long as the spec. */
char *parser_keep(struct parser *parser, const char *text);

/* A whole number from 1 to `high`; what is wrong is reported and leaves *limit alone. */
void parser_limit(struct parser *parser, const char *key, const struct yaml_value *value,
		  uint64_t high, uint32_t *limit);

/*
 * Readers of the keys that functions and USDT probes have in common, for tables of fields; `into`
 * is a struct draft_function.
 */
void parser_read_name(struct parser *parser, const struct yaml_value *value, void *into);
void parser_read_buckets(struct parser *parser, const struct yaml_value *value, void *into);
void parser_read_labels(struct parser *parser, const struct yaml_value *value, void *into);

/* Whether a span is of something that is there. */
static inline bool span_is_set(struct span span)
{
	return span.end > span.start;
}

#endif
