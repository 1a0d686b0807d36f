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
 * Bring the target's `n` present probes and those of a new plan of the target, `n_next` in a row,
 * together. What is in the plan only is added, as created now; a probe of the same label goes on
 * with its status and series. What is not in the plan stays if it was ever attached, and else (a
 * pattern that has matches now, say) goes.
 *
 * With another config (`reload`), a probe goes on only if what is configured for its label is the
 * same as before, and what is not in the plan stays only if it came of a pattern that is still
 * there.
 */
struct adopted adopt_plan(const struct probe *present, size_t n, const struct plan_probe *next,
			  size_t n_next, bool reload, double now_unix);

#endif
