/*
 * The attacher: everything of this program that touches the kernel, behind one opaque object
 * whose verbs tell its life:
 *
 *     attach_open → attach_plan (again for each retry) → attach_read … → attach_close
 *
 * Not thread-safe: the caller serialises all calls, but attach_read, attach_sweep, attach_unheard
 * and attach_memory_bytes may run in any thread, attach_sweep in one at a time.
 */
#ifndef KERNEL_ATTACH_H
#define KERNEL_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "kernel/mapping.h"
#include "kernel/tier.h"
#include "model/floor.h"
#include "model/plan.h"
#include "model/reading.h"
#include "model/spec.h"

struct attach_options {
	enum tier tier;	 /* TIER_AUTO: the best that works */
	bool perf_force; /* allow more than ATTACH_PERF_LIMIT functions in the perf tier */
	struct spec_limits limits;
	const atomic_bool *stop; /* when it becomes true, nothing more is attached; never NULL */
};

/* Functions the perf tier takes unless forced: detaching costs about a quarter second each. */
#define ATTACH_PERF_LIMIT 100

struct attach;

/*
 * Find the best tier by trying it on our own binary, load its programs, create the maps. Raises
 * RLIMIT_NOFILE as far as allowed (libbpf raises RLIMIT_MEMLOCK on kernels that ask for it). On
 * failure `err` names what is missing (capability, sysctl, kernel feature) and what to do.
 */
int attach_open(const struct attach_options *options, struct attach **attach, struct err *err);

/* The tier in use; never TIER_AUTO. */
enum tier attach_tier(const struct attach *attach);
/*
 * Measure what a probe reports for a function that does nothing, on functions of our own. Fills
 * `floors` (room for PROBE_FLOORS_MOST) and returns how many there are. Once.
 */
size_t attach_measure_floors(struct attach *attach, struct probe_floor *floors);

/* Whether return probes spare targets under a seccomp filter on this kernel. */
bool attach_is_sandbox_safe(const struct attach *attach);
/* Whether the kernel's pid filter covers every thread of a process; else ours is used. */
bool attach_pid_filter_covers_threads(const struct attach *attach);
/* Bytes of map memory in use, and what it will be when all series are in use. */
uint64_t attach_memory_bytes(const struct attach *attach, uint64_t *at_most);

/*
 * How a probe with this strategy is attached: "session", "multi" or "perf". One without a return
 * probe has no session, just an entry link.
 */
const char *attach_kind(const struct attach *attach, enum exit_strategy strategy);

/* Process filters. Main thread only. */
struct select;
struct select *attach_select(struct attach *attach);
/* What the kernel programs could not do for processes, for want of room (UP_UNHEARD_REASONS). */
void attach_unheard(const struct attach *attach, uint64_t *counters);

struct attach_result {
	bool attached;
	enum reason reason; /* why not; REASON_NONE when attached */
	char detail[256];   /* for people; "" when attached */
	int series;	    /* for attach_read; -1 while there is none */
	int filter; /* in: 1 + the filter of the processes that count; 0: every process; -1: there
		     * can be none, and `reason` and `detail` say why: it is not attached */
};

/* Called when each probe that can be attached has its series in its result, before it counts. */
struct attach_placed {
	void (*call)(void *context, const struct plan *plan, const struct attach_result *results);
	void *context;
};

/*
 * Attach every probe of `plan` whose reason is REASON_NONE and fill results[plan->n_probes]. A
 * series may be fed from several files at once: what was attached to another file stays. Offsets
 * are grouped into one link per file, direction and process; refused ones are found by bisecting
 * and the rest is kept. Probes `shared_with` another get that one's series.
 *
 * On entry results[i].attached says which probes are attached already (they are left alone),
 * results[i].series which series a probe has from an earlier try (-1: none), and results[i].filter
 * whom it counts.
 */
void attach_plan(struct attach *attach, const struct plan *plan, struct attach_result *results,
		 const struct attach_placed *placed);

/* Close every link into a file, at once. Series stay readable, and their probes can be attached
 * anew. */
void attach_drop_file(struct attach *attach, dev_t dev, ino_t ino);

/* The process of pid-filtered links has ended: close its links. Its series stay readable. */
void attach_drop_process(struct attach *attach, pid_t pid);

/* Processes that get links of their own (plan_probe.per_process), of one filter. */
#define ATTACH_MOST_PROCESSES 16

/*
 * Give processes that were selected since the links per process that they lack, and close those of
 * processes that have ended or are not selected any more. A few times a second.
 */
void attach_follow_selected(struct attach *attach);

/*
 * Why some selected process lacks its links to the probes of this series, with `detail` for people;
 * REASON_NONE when none does, or there are no links per process.
 */
enum reason attach_held_back(const struct attach *attach, int series, char *detail, size_t size);

/* These probes into a file count no longer; a link is closed when all of its probes are gone. */
void attach_drop_series(struct attach *attach, dev_t dev, ino_t ino, const int *series, size_t n);

/* The same in all files. */
void attach_unlink_series(struct attach *attach, const int *series, size_t n);
/*
 * They may be given to others: nothing reads them any more, no link leads to them, and nothing is
 * swept meanwhile.
 */
void attach_free_series(struct attach *attach, const int *series, size_t n);

/*
 * A series for the calls of one group (below UP_GROUPS, not 0) of those that count in `series`,
 * with the same buckets; or -ENOSPC when limits.series are in use, with `err`. Several groups may
 * be given one with attach_put_group().
 */
int attach_add_group_series(struct attach *attach, struct buckets buckets, struct err *err);
int attach_put_group(struct attach *attach, int series, uint32_t group, int into);
void attach_drop_group(struct attach *attach, int series, uint32_t group);
/* Until no program runs any more that began before this call. */
void attach_wait(const struct attach *attach);
/*
 * End a group's series, to which no group has led since before attach_wait(): what it counted goes
 * into `series`, but for its histogram. `counts`: it has none, its entries are all.
 */
void attach_end_group_series(struct attach *attach, int series, int ended, bool counts);

/* Which file `fd` really is, and who else maps it. 0, or -ENOTSUP when this kernel cannot tell. */
int attach_look(const struct attach *attach, int fd, struct mapping_state *state);

/*
 * Account for calls that ended with their thread (return sites only). To be called before
 * readings that should show them, and now and then in any case.
 */
void attach_sweep(struct attach *attach);

/* Sum one series over its shards. Takes no system call. */
void attach_read(const struct attach *attach, int series, struct reading *reading);

/* Close every link (return links last), then the maps. NULL is fine. */
void attach_close(struct attach *attach);

#endif
