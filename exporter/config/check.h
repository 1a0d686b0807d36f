/* The rules of a config that span several keys. */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include "config/draft.h"
#include "config/report.h"

/* Report what is wrong with a draft whose defaults are applied. */
void check_draft(struct report *report, const struct draft *draft);

#endif
