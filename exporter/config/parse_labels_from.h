/* `labels_from:` of a target: which labels its series have from the processes that are measured. */
#ifndef CONFIG_PARSE_LABELS_FROM_H
#define CONFIG_PARSE_LABELS_FROM_H

#include "config/parser.h"

/* For tables of fields; `into` is a struct draft_target. */
void parse_labels_from(struct parser *parser, const struct yaml_value *value, void *into);

/* What other keys of the target have to say to it. */
void parse_labels_from_check(struct report *report, const struct draft_target *target);

#endif
