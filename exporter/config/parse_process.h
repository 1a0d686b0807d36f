/* `process:` of a target. */
#ifndef CONFIG_PARSE_PROCESS_H
#define CONFIG_PARSE_PROCESS_H

#include "config/parser.h"

extern const struct schema parse_process_schema;

/* Read a process filter into the target. */
void parse_process(struct parser *parser, const struct yaml_value *value,
		   struct draft_target *into);

#endif
