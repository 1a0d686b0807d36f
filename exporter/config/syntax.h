/* What libyaml says about text that is not YAML, in words for whoever has to mend it. */
#ifndef CONFIG_SYNTAX_H
#define CONFIG_SYNTAX_H

#include "config/report.h"

/* As libyaml's parser leaves it; positions in bytes. */
struct syntax_fault {
	const char *problem, *context; /* may be NULL */
	size_t at, context_at;
};

void syntax_report(struct report *report, const struct syntax_fault *fault);

#endif
