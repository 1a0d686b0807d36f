/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls in flight of functions whose exits are probed themselves. A call is named by (process,
 * entry probe, stack pointer at entry). One that is left without passing an exit (an exception)
 * stays until the same name is entered again, or its thread or process image ends: then it is
 * abandoned. The exporter sweeps after ended threads (kernel/sweep.c), since walking the map
 * here would hold up the thread.
 */
#ifndef UP_CALLS_BPF_H
#define UP_CALLS_BPF_H

#include "store.bpf.h"

#define EEXIST 17

static __always_inline __u64 entry_sp(struct pt_regs *ctx, const struct up_probe *probe)
{
	return PT_REGS_SP(ctx) + (__s64)probe->sp_adjust;
}

/* Have thread_exit and thread_exec report this thread. */
static __always_inline void thread_note_calls(void)
{
	struct up_thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
							BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (thread)
		thread->opened_calls = 1;
}

static __always_inline void call_open(struct pt_regs *ctx, __u32 id, const struct up_probe *probe,
				      struct up_slot *slot)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct up_call_key key = {.sp = entry_sp(ctx, probe), .tgid = pid_tgid >> 32, .probe = id};
	struct up_call call = {.tid = (__u32)pid_tgid, .generation = probe->generation};

	thread_note_calls();
	call.start_ns = bpf_ktime_get_ns();
	long result = bpf_map_update_elem(&calls, &key, &call, BPF_NOEXIST);
	if (result == -EEXIST) {
		count(&slot->abandoned[UP_ABANDONED_UNWOUND]);
		result = bpf_map_update_elem(&calls, &key, &call, BPF_ANY);
	}
	if (result)
		count(&slot->lost[UP_LOST_IN_FLIGHT_FULL]);
}

/* An exit of a call of entry probe `id` was taken. */
static __always_inline void call_close(struct pt_regs *ctx, const struct up_probe *site, __u64 now)
{
	struct up_call_key key = {.sp = entry_sp(ctx, site),
				  .tgid = bpf_get_current_pid_tgid() >> 32,
				  .probe = site->entry};
	struct up_call *call = bpf_map_lookup_elem(&calls, &key);

	if (!call)
		return; /* entered before the probe was there */
	struct up_call seen = *call;
	if (bpf_map_delete_elem(&calls, &key))
		return; /* swept this very moment, and accounted for */
	struct up_probe *entry = probe_get(site->entry);
	if (entry && entry->generation == seen.generation)
		call_record(entry, seen.start_ns, now);
}

/* What the next conditional jump will do. `code` is the x86 condition code, 0..15. */
static __always_inline bool x86_condition_holds(__u64 flags, __u32 code)
{
	bool carry = flags & 0x1, parity = flags & 0x4, zero = flags & 0x40, sign = flags & 0x80,
	     overflow = flags & 0x800, holds;

	switch (code >> 1) {
	case 0:
		holds = overflow;
		break;
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry || zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = parity;
		break;
	case 6:
		holds = sign != overflow;
		break;
	default:
		holds = zero || sign != overflow;
		break;
	}
	return code & 1 ? !holds : holds;
}

static __always_inline bool condition_holds(struct pt_regs *ctx, const struct up_probe *probe)
{
	if (probe->condition == UP_CONDITION_ALWAYS)
		return true;
#if defined(__TARGET_ARCH_x86)
	return x86_condition_holds(ctx->eflags, (probe->condition - UP_CONDITION_X86) & 15);
#else
	return true;
#endif
}

/* The calls that `tid` entered until now are over: leave word for the sweep. */
static __always_inline void calls_end(__u32 tid, enum up_abandoned reason)
{
	struct up_ended word = {.when_ns = bpf_ktime_get_ns(), .reason = reason};

	bpf_map_update_elem(&ended, &tid, &word, BPF_ANY);
}

#endif
