/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which processes the filters select, kept up to date through forks, program starts and ends.
 * Bytes, not bits: they are written by the exporter and by several hooks, and a byte is written as
 * a whole.
 */
#ifndef UP_SELECT_BPF_H
#define UP_SELECT_BPF_H

#include <bpf/bpf_core_read.h>

#include "kernel_types.h"
#include "maps.bpf.h"

#define TICK_NS 10000000 /* USER_HZ is 100 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct up_filters);
} filters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_FILTERS);
	__type(key, __u32);
	__type(value, struct up_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct up_inherit);
} inherit SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_SELECTED_ROOM);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct up_selected);
} selected SEC(".maps");

/* A new entry of `selected` on its way: too large for the stack beside the rest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct up_selected);
} scratch SEC(".maps");

/* Id of a cgroup (v2) → the group of the processes in it, as far as the exporter has seen it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_GROUPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
} cgroup_groups SEC(".maps");

/* What the exporter was told of filters and groups: filter << 16 | group. It takes out what ends.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_TOLD_ROOM);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UP_STARTED_BYTES);
} started SEC(".maps");

/* tgid → when the exporter was asked about it: what it forks before the answer is asked about too,
 * and so on: `root` is who began that.
 */
struct undecided {
	__u64 since_ns;
	__u32 root, spare;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UP_UNDECIDED_ROOM);
	__type(key, __u32);
	__type(value, struct undecided);
} undecided SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_UNHEARD_REASONS);
	__type(key, __u32);
	__type(value, __u64);
} unheard SEC(".maps");

static __always_inline void count_unheard(__u32 reason)
{
	__u64 *counter = bpf_map_lookup_elem(&unheard, &reason);

	if (counter)
		count(counter);
}

/* Select a process, unless there are too many. */
static __always_inline long put_selected(__u32 tgid, const struct up_selected *entry)
{
	long result = bpf_map_update_elem(&selected, &tgid, entry, BPF_ANY);

	if (result)
		count_unheard(UP_UNHEARD_SELECTED);
	return result;
}

static __always_inline __u64 start_ticks(const struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime) / TICK_NS;
}

/* The entry of the current process; not that of an earlier one with its tgid. */
static __always_inline struct up_selected *selected_now(void)
{
	struct task_struct *task = bpf_get_current_task_btf(); /* read in place: on every call */
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct up_selected *entry = bpf_map_lookup_elem(&selected, &tgid);

	if (!entry || entry->start_ticks != task->group_leader->start_boottime / TICK_NS)
		return NULL;
	return entry;
}

/* The mask is for the verifier, and the barrier keeps the compiler from dropping it. */
static __always_inline __u8 *byte_of(__u8 *bytes, __u32 filter)
{
	barrier_var(filter);
	return &bytes[filter & (UP_FILTERS - 1)];
}

/* Whether the current process is one that the probe counts. */
static __always_inline bool is_selected(const struct up_probe *probe)
{
	if (!probe->filter)
		return true;
	struct up_selected *entry = selected_now();
	__u32 at = probe->filter - 1;
	return entry && (*byte_of(entry->itself, at) || *byte_of(entry->inherited, at));
}

/* The group of the current process; 0: the probe does not ask, or it is not known. */
static __always_inline __u32 group_now(const struct up_probe *probe)
{
	if (!(probe->flags & UP_PROBE_GROUPED))
		return 0;
	struct up_selected *entry = selected_now();
	return entry ? entry->group : 0;
}

static __always_inline struct up_selected *fresh(__u64 ticks)
{
	__u32 zero = 0;
	struct up_selected *entry = bpf_map_lookup_elem(&scratch, &zero);

	if (!entry)
		return NULL;
	__builtin_memset(entry, 0, sizeof(*entry));
	entry->start_ticks = ticks;
	return entry;
}

/* The child is like its parent. */
static __always_inline void inherit_from(const struct up_selected *parent,
					 struct task_struct *child)
{
	__u32 tgid = BPF_CORE_READ(child, tgid), zero = 0;
	struct up_inherit *from = bpf_map_lookup_elem(&inherit, &zero);
	struct up_selected *entry = fresh(start_ticks(child));
	if (!from || !entry)
		return;
	entry->group = parent->group;
	for (int i = 0; i < UP_FILTERS; i++) {
		__u8 by_itself = parent->itself[i], any = by_itself | parent->inherited[i];
		entry->itself[i] = by_itself & from->as_itself[i];
		entry->inherited[i] = any & from->as_descendant[i];
	}
	put_selected(tgid, entry);
}

/* `now`: wake the exporter, which else comes by four times a second. */
static __always_inline void ask(const struct up_started *word, bool now)
{
	if (bpf_ringbuf_output(&started, (void *)word, sizeof(*word),
			       now ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		count_unheard(UP_UNHEARD_STARTED);
}

/* Who is asked about, and was not answered for when it forked or started a program; 0: decided. */
static __always_inline __u32 undecided_root(__u32 tgid, const struct up_filters *all)
{
	struct undecided *found = bpf_map_lookup_elem(&undecided, &tgid);

	return found && found->since_ns >= all->heard_ns ? found->root : 0;
}

static __always_inline void note_undecided(__u32 tgid, __u32 root)
{
	struct undecided entry = {.since_ns = bpf_ktime_get_ns(), .root = root};

	bpf_map_update_elem(&undecided, &tgid, &entry, BPF_ANY);
}

/* What is decided of the parent later would not be inherited by a child that there is already. */
static __always_inline void ask_with_parent(__u32 tgid)
{
	struct up_started word = {.tgid = tgid, .parent = bpf_get_current_pid_tgid() >> 32};
	__u32 zero = 0;
	struct up_filters *all = bpf_map_lookup_elem(&filters, &zero);

	if (!all || !all->n)
		return;
	word.root = undecided_root(word.parent, all);
	if (!word.root)
		return;
	note_undecided(tgid, word.root);
	ask(&word, false);
}

static __always_inline void select_forked(struct task_struct *child)
{
	struct up_selected *parent = selected_now();
	__u32 tgid = BPF_CORE_READ(child, tgid);

	if (BPF_CORE_READ(child, pid) != (int)tgid)
		return; /* a thread */
	if (parent)
		inherit_from(parent, child);
	ask_with_parent(tgid);
}

static __always_inline bool comm_is(const char *comm)
{
	char name[16] = {};

	bpf_get_current_comm(name, sizeof(name));
	for (int i = 0; i < 16; i++) {
		if (name[i] != comm[i])
			return false;
		if (!name[i])
			return true;
	}
	return true;
}

/* A program that the current process runs from now on. */
struct starting {
	char name[UP_RULE_NAME]; /* of its file, padded with NULs */
	__u64 ino;
	__u32 dev, tgid, group; /* group: of its cgroup; 0: not known, or nobody asks */
	bool asks, is_abroad;	/* is_abroad: what the kernel decides is to be looked at as well */
};

/* The name is that of this path to the file: other hard links have others. */
static __always_inline bool exe_is(const struct up_rule *rule, const struct starting *starting)
{
	const __u64 *name = (const void *)starting->name, *wanted = (const void *)rule->name;
	__u64 differs = 0;

	for (int i = 0; i < UP_RULE_NAME / 8; i++)
		differs |= name[i] ^ wanted[i];
	if (differs)
		return false;
	for (int i = 0; i < UP_RULE_INODES; i++)
		if (rule->exe[i].used && rule->exe[i].ino == starting->ino &&
		    rule->exe[i].dev == starting->dev)
			return true;
	return false;
}

enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_ASK };

static __always_inline enum verdict judge(const struct up_rule *rule,
					  const struct starting *starting)
{
	enum verdict verdict = rule->parts & UP_RULE_OTHERS ? VERDICT_ASK : VERDICT_YES;

	if (!rule->parts)
		return VERDICT_NO; /* not in use, or it has nothing to do with programs (pid) */
	if (rule->parts & UP_RULE_PID && rule->tgid != starting->tgid)
		return VERDICT_NO;
	if (rule->parts & UP_RULE_COMM && !comm_is(rule->comm))
		return VERDICT_NO;
	if (rule->parts & UP_RULE_CGROUP &&
	    bpf_get_current_ancestor_cgroup_id(rule->cgroup_level) != rule->cgroup)
		return VERDICT_NO;
	if (rule->parts & UP_RULE_EXE && !exe_is(rule, starting))
		return VERDICT_ASK; /* it may be the same path in a container, or a new version */
	return verdict;
}

/* The first process of a group that the filter selects: there must be series for it. */
static __always_inline void tell_group(__u32 tgid, __u32 at, __u32 group)
{
	struct up_started word = {.tgid = tgid, .filter = at + 1, .group = group};
	__u32 key = at << 16 | group, yes = 1;

	if (bpf_map_lookup_elem(&told, &key))
		return;
	bpf_map_update_elem(&told, &key, &yes, BPF_ANY);
	if (!bpf_ringbuf_output(&started, &word, sizeof(word), BPF_RB_FORCE_WAKEUP))
		return;
	bpf_map_delete_elem(&told, &key);
	count_unheard(UP_UNHEARD_STARTED);
}

/* The entry of the current process, made if need be. */
static __always_inline struct up_selected *entry_of(__u32 tgid)
{
	struct up_selected *entry = selected_now();

	if (entry)
		return entry;
	entry = fresh(start_ticks((void *)bpf_get_current_task()));
	if (entry)
		put_selected(tgid, entry);
	return selected_now();
}

/* A global function, so that the verifier looks at it once and not for each filter. */
__noinline int start_one(__u32 at, struct starting *starting)
{
	struct up_rule *rule = bpf_map_lookup_elem(&rules, &at);

	if (!rule || at >= UP_FILTERS || !starting)
		return 0;
	enum verdict verdict = judge(rule, starting);
	struct up_selected *entry =
		verdict == VERDICT_YES ? entry_of(starting->tgid) : selected_now();
	if (verdict == VERDICT_ASK || (verdict == VERDICT_YES && starting->is_abroad))
		starting->asks = true;
	if (verdict == VERDICT_YES && starting->group)
		tell_group(starting->tgid, at, starting->group);
	if (entry && rule->parts) /* `pid` goes on whatever it runs */
		*byte_of(entry->itself, at) = verdict == VERDICT_YES;
	return 0;
}

/* The group that processes in the current cgroup are in; 0: nobody has seen it. */
static __always_inline __u32 group_of_cgroup(void)
{
	__u64 cgroup = bpf_get_current_cgroup_id();
	__u32 *group = bpf_map_lookup_elem(&cgroup_groups, &cgroup);

	return group ? *group : 0;
}

/* False: the process is selected, and nobody knows its group. */
static __always_inline bool regrouped(__u32 group, bool by_cgroup)
{
	struct up_selected *entry = selected_now();

	if (entry && (group || by_cgroup))
		entry->group = group;
	return !entry || entry->group;
}

/* The thread that started the program, whose id was `old_pid`, has taken the first one's place. */
static __always_inline void note_replaced(__u32 tgid, __u32 old_pid)
{
	struct up_selected *entry = selected_now();

	if (entry && old_pid != tgid)
		entry->replaced++;
}

/* The current process runs another program from now on. */
static __always_inline void select_started(__u32 old_pid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 zero = 0;
	struct up_filters *all = bpf_map_lookup_elem(&filters, &zero);
	struct starting starting = {
		.ino = BPF_CORE_READ(inode, i_ino),
		.dev = BPF_CORE_READ(inode, i_sb, s_dev),
		.tgid = bpf_get_current_pid_tgid() >> 32,
	};

	if (!all || !all->n)
		return;
	bpf_probe_read_kernel_str(starting.name, sizeof(starting.name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (all->grouped)
		starting.group = group_of_cgroup();
	struct dentry *mounted = BPF_CORE_READ(file, f_path.mnt, mnt_root);
	starting.is_abroad = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum) != all->home_ns;
	/* Another folder may have the file by this name, and there may be more of the name. */
	starting.is_abroad |= BPF_CORE_READ(inode, i_nlink) > 1 ||
			      mounted != BPF_CORE_READ(inode, i_sb, s_root) ||
			      starting.name[UP_RULE_NAME - 2];
	for (__u32 i = 0; i < UP_FILTERS; i++) {
		if (i >= all->n)
			break;
		start_one(i, &starting);
	}
	note_replaced(starting.tgid, old_pid);
	bool now = all->grouped && !regrouped(starting.group, all->by_cgroup);
	if (!now && !starting.asks)
		return;
	struct up_started word = {.tgid = starting.tgid};
	if (BPF_CORE_READ(file, f_path.dentry) != mounted)
		__builtin_memcpy(word.name, starting.name, sizeof(word.name));
	__u32 root = undecided_root(starting.tgid, all);
	note_undecided(starting.tgid, root ? root : starting.tgid);
	ask(&word, now);
}

/* A process was moved to another cgroup, without starting anything. */
static __always_inline void select_moved(struct task_struct *task)
{
	__u32 zero = 0;
	struct up_filters *all = bpf_map_lookup_elem(&filters, &zero);

	if (!all || !all->n)
		return;
	ask(&(struct up_started){.tgid = BPF_CORE_READ(task, tgid)}, all->grouped);
}

static __always_inline void select_ended(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_delete_elem(&selected, &tgid);
}

/*
 * The exporter has decided: see enum up_select_argument. Not with `scratch`, since this runs where
 * a hook may come in between. 0, or not when there is no room.
 */
static __always_inline int select_decided(const __u64 *args)
{
	__u32 tgid = args[UP_SELECT_TGID], at = args[UP_SELECT_FILTER];
	struct up_selected *entry = bpf_map_lookup_elem(&selected, &tgid);
	struct up_selected made = {.start_ticks = args[UP_SELECT_START_TICKS],
				   .group = args[UP_SELECT_GROUP]};

	if (at == UP_FILTERS && entry && entry->start_ticks == made.start_ticks)
		entry->group = made.group;
	if (at >= UP_FILTERS)
		return 0;
	if (!entry || entry->start_ticks != made.start_ticks) {
		if (!args[UP_SELECT_ON])
			return 0;
		if (put_selected(tgid, &made))
			return 1;
		entry = bpf_map_lookup_elem(&selected, &tgid);
	}
	if (!entry)
		return 0; /* it has ended since */
	if (made.group)
		entry->group = made.group;
	*byte_of(args[UP_SELECT_INHERITED] ? entry->inherited : entry->itself, at) =
		args[UP_SELECT_ON];
	return 0;
}

#endif
