/*
 * What became of a configured probe: the daemon keeps one per plan_probe and collect/ shows it.
 */
#ifndef MODEL_STATUS_H
#define MODEL_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/contract.h"

struct probe_status {
	bool attached;
	enum reason reason;  /* while not attached */
	const char *kind;    /* "session", "multi", "perf": how it is attached; NULL while not */
	double created_unix; /* when its series began, seconds since the epoch */
};

#endif
