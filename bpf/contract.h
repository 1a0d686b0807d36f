/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only types both sides share: what the kernel programs write and the exporter reads, and
 * the other way round. Fixed width, no pointers, sizes asserted: a change here is a change of
 * the contract, and both sides are rebuilt together.
 *
 * How the pieces meet. A link's cookie is a probe id: an index into the map `probes`, whose
 * records say where the probe's calls are counted (slot), with which bucket edges (bounds) and
 * whether at all (flags). A slot holds one series' counters and histogram cells for one shard of
 * the CPUs. Slots live in chunks of 64 (map `chunks`, an array of mmapable arrays), so that a
 * reload can add series without touching those that count. Calls that were entered and not left
 * are frames on a per-thread stack in task storage (map `threads`).
 */
#ifndef UP_CONTRACT_H
#define UP_CONTRACT_H

#include <linux/types.h>

/* ---- counters and histograms ---- */

/* Why an entered call will never be observed (metric uprobe_function_abandoned_calls_total). */
enum up_abandoned {
	UP_ABANDONED_UNWOUND,	  /* longjmp or exception: the frame was left without a return */
	UP_ABANDONED_THREAD_EXIT, /* the thread ended inside the call */
	UP_ABANDONED_EXEC,	  /* the process image was replaced inside the call */
	UP_ABANDONED_DEPTH,	  /* more pending returns than the kernel keeps for a thread */
	UP_ABANDONED_DETACHED,	  /* the probe was removed while the call was open */
	UP_ABANDONED_REASONS,
	UP_ABANDONED_ROOM = 8, /* words kept in a slot */
};

/* Why a call's measurement was lost (metric uprobe_exporter_events_lost_total). */
enum up_lost {
	UP_LOST_IN_FLIGHT_FULL, /* no memory for the thread's in-flight frames */
	UP_LOST_CLOCK,		/* the clock went backwards between entry and exit */
	UP_LOST_KEY,		/* USDT pairs: the argument that names the start is not readable */
	UP_LOST_REASONS,
	UP_LOST_ROOM = 4,
};

#define UP_SLOT_CELLS 368 /* cells in one slot; a layout with more continues in the next slot */
/*
 * One series, one shard. The sum is added after the cell and read before the cells, so it may
 * lag behind the count but never leads; `entries` is added first and read last, so that
 * entries >= observed + abandoned + lost holds in every reading.
 */
struct up_slot {
	__u64 sum_ns;
	__u64 entries;
	__u64 abandoned[UP_ABANDONED_ROOM];
	__u64 lost[UP_LOST_ROOM];
	__u64 unmatched; /* USDT pairs: ends without a start */
	__u64 ended;	 /* calls observed by series of label sets that are no more */
	__u64 cells[UP_SLOT_CELLS];
};
_Static_assert(sizeof(struct up_slot) == 3072, "a slot is 3 KiB");

#define UP_CHUNK_SLOTS 64  /* slots (times shards) in one inner map of `chunks` */
#define UP_MAX_SHARDS  256 /* ceiling of limits.shards */

/*
 * A bounds table: the ascending upper edges, in nanoseconds and inclusive, of the cells of a
 * series. Cell i counts values v with edge[i-1] < v <= edge[i]; cell n_edges is the overflow.
 * `start` narrows the search: for values that share their leading bit and the three bits after
 * it (a "stride"), the cell lies between start[stride] and start[stride + 1], both included.
 */
#define UP_MAX_BOUNDS	 255 /* classic bucket bounds of one function */
#define UP_MAX_EDGES	 640 /* native edges + UP_MAX_BOUNDS, rounded up */
#define UP_STRIDES	 512 /* 64 octaves of 8: no value needs to be clamped */
#define UP_BOUNDS_TABLES 128 /* distinct bounds lists in force at once, besides our own */

struct up_bounds {
	__u32 n_edges;
	__u32 slots; /* slots a series with these bounds takes: 1 or 2 */
	__u64 edge[UP_MAX_EDGES];
	__u16 start[UP_STRIDES + 8]; /* [UP_STRIDES] closes the last stride; the rest is padding */
};
_Static_assert(sizeof(struct up_bounds) == 8 + 8 * UP_MAX_EDGES + 2 * (UP_STRIDES + 8),
	       "no padding in up_bounds");
_Static_assert(UP_MAX_EDGES + 1 <= 2 * UP_SLOT_CELLS, "a layout fits two slots");

/* ---- probes ---- */

enum up_probe_flags {
	UP_PROBE_ENABLED = 1 << 0,	/* count; otherwise the hit is ignored */
	UP_PROBE_COUNT_ONLY = 1 << 1,	/* `exit: none`: entries only, no frame is kept */
	UP_PROBE_RETURN_SITES = 1 << 2, /* the call is kept in `calls`, by its stack pointer */
	UP_PROBE_ENDS = 1 << 3,		/* USDT pairs: what begins at a start ends here */
	UP_PROBE_GROUPED = 1 << 4,	/* each group of processes has a series of its own */
};

/*
 * Where an argument of a USDT site is found at a hit. Registers are byte offsets into the user
 * registers (struct pt_regs on x86-64, struct user_pt_regs on arm64), read as 8 bytes.
 */
enum up_arg_kind {
	UP_ARG_NONE,	 /* no argument */
	UP_ARG_CONSTANT, /* `value` */
	UP_ARG_REGISTER, /* base >> shift */
	UP_ARG_MEMORY,	 /* what lies at base + (index << shift) + value */
};

#define UP_ARG_NO_REGISTER 0xffff

struct up_arg {
	__s64 value;	/* the constant, or the displacement */
	__u16 base;	/* UP_ARG_NO_REGISTER: 0 stands for it */
	__u16 index;	/* the same */
	__u8 kind;	/* enum up_arg_kind */
	__u8 shift;	/* bits */
	__u8 size;	/* bytes that are meant: 1, 2, 4 or 8 */
	__u8 is_signed; /* they are extended by their sign */
	__u64 spare;
};
_Static_assert(sizeof(struct up_arg) == 24, "no padding in up_arg");

/* What a hit of one probe means; written by the exporter, read on every hit. */
struct up_probe {
	__u32 slot;	  /* first slot of the series */
	__u32 bounds;	  /* index into the map `bounds` */
	__u32 flags;	  /* enum up_probe_flags */
	__u32 generation; /* changes when the id is given to another probe: stale frames are told */
	__u32 filter;	  /* 1 + the filter whose processes count; 0: every process */
	__s32 sp_adjust;  /* bytes to add to sp at this site to get sp at the function's entry */
	__u32 entry;	  /* exit sites, USDT sites: probe id of the entry, which is the series */
	__u32 condition;  /* enum up_condition: the hit counts only if it holds */
	__u32 site;	  /* the same for all probes on one instruction of one file */
	__u32 member;	  /* tells those apart: below UP_SITE_PROBES */
	struct up_arg key; /* USDT pairs: what names a start and its end; else none */
};
_Static_assert(sizeof(struct up_probe) == 64, "one cache line");

/*
 * When a hit counts. A conditional jump is an exit only when it is taken; which it will be is read
 * from the flags. x86-64: 1 + the condition code, the low four bits of the opcode.
 */
enum up_condition {
	UP_CONDITION_ALWAYS = 0,
	UP_CONDITION_X86 = 1, /* .. UP_CONDITION_X86 + 15 */
};

/* ---- calls in flight ---- */

/* The kernel keeps at most this many pending returns a thread (MAX_URETPROBE_DEPTH). */
#define UP_MAX_DEPTH 64

/* Probes that may sit on one instruction: different buckets, filters or labels of one function. */
#define UP_SITE_PROBES 4

/* A probe that waits for this frame's return. */
struct up_waiting {
	__u32 probe;
	__u32 generation; /* 0: nobody waits */
};

/* One entry into a function, for all probes on it: as many as the kernel has pending returns. */
struct up_frame {
	__u64 sp;	/* user stack pointer at the function's entry */
	__u64 start_ns; /* CLOCK_MONOTONIC at entry */
	__u32 site;
	__u8 returning; /* the return has been seen by some probe: no other may join */
	__u8 grouped;	/* bits of those that were entered in the group; the others in none */
	__u16 group;	/* of the process at entry, if some probe asks for it; else 0 */
	struct up_waiting waiting[UP_SITE_PROBES]; /* at the probe's `member` */
};

struct up_thread {
	__u32 depth;
	__u32 opened_calls; /* not 0: the thread has entered calls kept in `calls` */
	struct up_frame frames[UP_MAX_DEPTH];
};
_Static_assert(sizeof(struct up_thread) == 8 + (24 + 8 * UP_SITE_PROBES) * UP_MAX_DEPTH,
	       "no padding in up_thread");

/*
 * A probe record that is given to another probe has another generation from then on. Where calls
 * of the old one are counted, when they are noticed, is in the map `retired`, by generation.
 */
#define UP_RETIRED 4096

/*
 * Calls whose exits are seen by probes on the exits themselves (return sites) live in the hash
 * map `calls`. The stack pointer at entry names the call, on whichever thread it goes on: that
 * holds for recursion and for coroutines. What begins at one USDT site and ends at another is kept
 * there as well.
 */
struct up_call_key {
	__u64 sp; /* USDT pairs: the thread's id, or the value of an argument */
	__u32 tgid;
	__u32 probe; /* of the entry; with UP_CALL_SPARE, a call whose name was not free yet */
};

/*
 * A call that was left without an exit has its name until it is taken out. Should whoever takes it
 * be held up midway (an interrupt, a virtual CPU without its turn), the next call of that name
 * does not wait: it goes by a second name.
 */
#define UP_CALL_SPARE (1u << 31)

struct up_call {
	__u64 start_ns; /* 0: somebody is taking it out */
	__u32 tid;	/* the thread that entered */
	__u32 generation;
	__u32 on_own_stack; /* of that thread: the call cannot go on elsewhere */
	__u32 group;	    /* of the process at entry; 0: its series has none */
};

/* What the program `take` is given. */
enum up_take_argument {
	UP_TAKE_SP,
	UP_TAKE_TGID,
	UP_TAKE_PROBE,
	UP_TAKE_START_NS,
	UP_TAKE_ARGUMENTS,
};

/*
 * Groups. Processes with the same labels (container, pod) are a group, which has a number; the
 * exporter tells it with its decision on a process, and a process that is forked is in the group of
 * its parent. In the map `grouped` is the slot in which a series counts the calls of one group;
 * what has none there (group 0: not known yet) counts in the series' own slot.
 */
#define UP_GROUPS    4096 /* numbers are below it */
#define UP_TOLD_ROOM 8192 /* pairs of a filter and a group that were told */

struct up_grouped_key {
	__u32 slot; /* the series' own */
	__u32 group;
};

/*
 * Threads and processes that ended, or replaced their image, after opening such calls: maps
 * `ended_threads` by tid, which speaks of calls on the thread's own stack, and
 * `ended_processes` by tgid, which speaks of all that are left.
 */
#define UP_ENDED_ROOM 65536

struct up_ended {
	__u64 when_ns; /* calls entered before this are over */
	__u32 reason;  /* enum up_abandoned */
	__u32 spare;
};

/* ---- processes ---- */

/*
 * Process filters. Which processes they select is in the map `selected`, by tgid. The exporter puts
 * in what it finds in /proc; forks, program starts and ends are followed by the kernel programs,
 * so that a process that starts is measured from its first instruction on, as far as the kernel can
 * tell: the rest the exporter decides when it hears of the start.
 */
#define UP_FILTERS	 128
#define UP_SELECTED_ROOM 65536 /* processes selected at once */

struct up_selected {
	__u64 start_ticks; /* of the process, 1/100 s since boot: the same tgid later is another */
	__u32 group;
	__u32 replaced; /* how often a program was started by another thread than the first */
	__u8 itself[UP_FILTERS];    /* not 0: the filter matches the process */
	__u8 inherited[UP_FILTERS]; /* it matches one that the process descends from */
};

/* What the kernel programs decide by when a program is started. */
enum up_rule_part {
	UP_RULE_EXE = 1,    /* one of these inodes, by this name; others may be the same path
			     * elsewhere */
	UP_RULE_COMM = 2,   /* the name it has then */
	UP_RULE_CGROUP = 4, /* in this cgroup (v2) or below it */
	UP_RULE_OTHERS = 8, /* there is more to it: the exporter decides */
	UP_RULE_PID = 16,   /* this process and no other */
};

#define UP_RULE_INODES 64 /* containers of one image have one each */
#define UP_RULE_NAME   64 /* bytes of a file's name, with the NUL, that are looked at */

struct up_rule {
	__u32 parts; /* enum up_rule_part */
	__u32 cgroup_level;
	__u64 cgroup;
	__u32 tgid; /* 0: none at present */
	__u32 spare;
	char comm[16];
	char name[UP_RULE_NAME]; /* the last part of the executable's path, padded with NULs */
	struct {
		__u64 ino;
		__u32 dev; /* as the kernel has it: major << 20 | minor */
		__u32 used;
	} exe[UP_RULE_INODES];
};

/* What holds for all filters. */
struct up_filters {
	__u32 n;	 /* those in use are below it */
	__u32 grouped;	 /* some need to know the group of each process */
	__u32 by_cgroup; /* which is told by its cgroup (v2) if anybody has seen that */
	__u32 home_ns; /* the exporter's mount namespace: of processes in others it wants to hear */
	__u64 heard_ns; /* the exporter has heard of what started before; CLOCK_MONOTONIC */
};

/* What children inherit of what selected their parent: not 0 for filters that are so. */
struct up_inherit {
	__u8 as_itself[UP_FILTERS];	/* a child is like its parent until it starts a program */
	__u8 as_descendant[UP_FILTERS]; /* `children: true` */
};

/* What the exporter asks the program `select` for: arguments of a test run. */
enum up_select_argument {
	UP_SELECT_TGID,
	UP_SELECT_START_TICKS,
	UP_SELECT_FILTER,    /* UP_FILTERS: only its group */
	UP_SELECT_INHERITED, /* 0: by itself */
	UP_SELECT_ON,
	UP_SELECT_GROUP, /* 0: as it is */
	UP_SELECT_ARGUMENTS,
};

/* A process was started, or runs another program; the exporter decides, or finds its files. */
struct up_started {
	__u32 tgid;
	/* Not 0: this filter selected it, less 1, in this group; it may have ended by now. */
	__u32 filter, group;
	/*
	 * Not 0: it was forked by this one, of which the exporter had not heard yet; and the first
	 * in the line of such ones.
	 */
	__u32 parent, root, spare;
	char name[UP_RULE_NAME]; /* the last part of the executable's path, cut; "": not told */
};
_Static_assert(sizeof(struct up_started) == 24 + UP_RULE_NAME, "no padding in up_started");

#define UP_STARTED_BYTES  (1 << 20)
#define UP_UNDECIDED_ROOM 4096

/*
 * What the kernel programs could not do for processes, counted in the map `unheard` (metric
 * uprobe_exporter_process_events_lost_total).
 */
enum up_unheard {
	UP_UNHEARD_STARTED,  /* the exporter was not told of a start: the ring buffer is full */
	UP_UNHEARD_SELECTED, /* a process was not selected: `selected` is full */
	UP_UNHEARD_REASONS,
};

/* ---- files ---- */

/* What bpf/mapping.bpf.c tells of a mapping. */
struct up_mapping {
	__u64 ino;
	__u32 dev; /* as the kernel has it: major << 20 | minor */
	__u32 found;
	__u32 shared; /* the file is mapped elsewhere too */
	__u32 spare;
};

#endif
