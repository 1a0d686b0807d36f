/* One probe in the table of configured probes (probes.c). */
#ifndef EXPORTER_PROBE_H
#define EXPORTER_PROBE_H

#include <stdbool.h>

#include "collect/collect.h"
#include "model/plan.h"

struct probe {
	const struct plan_probe *plan; /* never NULL; of one of the plans that are kept */
	struct probe_status status;
	int series;	       /* -1 while there is none */
	enum reason held_back; /* why some selected process is not measured though it is attached */
	bool logged;	       /* its present outcome was */
};

/* A probe that nothing was tried with yet. */
static inline struct probe probe_of(const struct plan_probe *plan, double created_unix)
{
	return (struct probe){
		.plan = plan,
		.series = -1,
		.status = {.reason = plan->reason, .created_unix = created_unix},
	};
}

#endif
