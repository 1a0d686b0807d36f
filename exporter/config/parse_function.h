/* An item of `functions:`, and `exit:`, which `defaults:` has too. */
#ifndef CONFIG_PARSE_FUNCTION_H
#define CONFIG_PARSE_FUNCTION_H

#include "config/parser.h"

extern const struct schema parse_function_schema;

/* Read one function into the target. */
void parse_function(struct parser *parser, const struct yaml_value *value,
		    struct draft_target *into);

/* Read `exit:`; what is wrong is reported and leaves *exit alone. Whether it was right. */
bool parse_exit(struct parser *parser, const struct yaml_value *value, enum exit_mode *exit);

#endif
