/*
 * A target's probes when its file was resolved again. Probes are told apart by their labels: a
 * pattern may find others than before, while what was measured once is shown until the end.
 */
#ifndef EXPORTER_ADOPT_H
#define EXPORTER_ADOPT_H

#include <stddef.h>

#include "probe.h"

struct adopted {
	struct probe *probes; /* what the target has next; owned by the caller, as is `owners` */
	size_t n;
	/* For each probe of the plan, which of `probes` it is; NULL: another has its label. */
	struct probe **owners;
};

/*
 * Bring the target's present probes and a new plan of the target together. What is in the plan
 * only is added, as created now; a probe of the same label goes on with its status and series;
 * what is not in the plan stays if it was ever attached, and else (a pattern that has matches now,
 * say) goes.
 */
struct adopted adopt_plan(const struct probe *present, size_t n, const struct plan *plan,
			  double now_unix);

#endif
