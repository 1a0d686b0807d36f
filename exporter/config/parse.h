/* The tree of a config file becomes a draft of its spec. */
#ifndef CONFIG_PARSE_H
#define CONFIG_PARSE_H

#include "config/draft.h"
#include "config/report.h"
#include "config/yaml.h"

#define PARSE_MAX_TARGETS   4096
#define PARSE_MAX_FUNCTIONS 65536

/* Read `tree` into `draft`; what is wrong goes to `report`, and the rest is read all the same. */
void parse_tree(struct report *report, const struct yaml_tree *tree, struct draft *draft);

#endif
