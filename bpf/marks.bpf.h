/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * USDT sites: hits are counted, or what lies between two of them is timed. A measurement that
 * has begun is kept in `calls`, by the thread or by the value of an argument, within its process.
 * One that begins again under that name before its end is over, and abandoned.
 */
#ifndef UP_MARKS_BPF_H
#define UP_MARKS_BPF_H

#include "args.bpf.h"
#include "calls.bpf.h"
#include "select.bpf.h"

/* What the measurement that begins or ends here is kept under; false when it cannot be told. */
static __always_inline bool mark_key(struct pt_regs *ctx, const struct up_probe *mark,
				     struct up_call_key *key)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	*key = (struct up_call_key){
		.sp = (__u32)pid_tgid, .tgid = pid_tgid >> 32, .probe = mark->entry};
	return mark->key.kind == UP_ARG_NONE || arg_read(ctx, &mark->key, &key->sp);
}

static __always_inline void mark_start(struct pt_regs *ctx, const struct up_probe *mark,
				       const struct up_probe *entry, __u32 group,
				       struct up_slot *slot)
{
	struct up_call_key key;
	struct up_call call = {
		.tid = (__u32)bpf_get_current_pid_tgid(),
		.generation = entry->generation,
		.on_own_stack = mark->key.kind == UP_ARG_NONE, /* it ends with its thread */
		.group = group,
	};

	count(&slot->entries);
	if (!mark_key(ctx, mark, &key)) {
		count(&slot->lost[UP_LOST_KEY]);
		return;
	}
	thread_note_calls();
	call.start_ns = bpf_ktime_get_ns();
	call_keep(&key, &call, entry->slot, slot);
}

static __always_inline void mark_hit(struct pt_regs *ctx, const struct up_probe *mark, __u64 now)
{
	struct up_probe *entry = probe_get(mark->entry);
	struct up_call_key key;

	if (!is_selected(mark))
		return;
	__u32 group = group_now(mark);
	struct up_slot *slot = entry ? slot_get(slot_at_entry(entry->slot, &group)) : NULL;
	if (!slot)
		return;
	if (mark->flags & UP_PROBE_COUNT_ONLY)
		count(&slot->entries);
	else if (!(mark->flags & UP_PROBE_ENDS))
		mark_start(ctx, mark, entry, group, slot);
	else if (!mark_key(ctx, mark, &key) || !call_finish(&key, now))
		count(&slot->unmatched);
}

#endif
