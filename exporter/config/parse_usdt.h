/* An item of `usdt:`. */
#ifndef CONFIG_PARSE_USDT_H
#define CONFIG_PARSE_USDT_H

#include "config/parser.h"

extern const struct schema parse_usdt_schema, parse_usdt_key_schema;

/* Read one USDT probe, or the stretch between two, into the target. */
void parse_usdt(struct parser *parser, const struct yaml_value *value, struct draft_target *into);

#endif
