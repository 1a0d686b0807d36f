/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls in flight of functions whose exits are probed themselves. A call is named by (process,
 * entry probe, stack pointer at entry). One that is left without passing an exit (an exception)
 * stays until the same name is entered again, or the thread whose stack it is on, or the process
 * image, ends: then it is abandoned. The exporter sweeps after ended threads (kernel/sweep.c),
 * since walking the map here would hold up the thread.
 */
#ifndef UP_CALLS_BPF_H
#define UP_CALLS_BPF_H

#include "store.bpf.h"

#define EEXIST 17

__u32 spare_calls; /* in `calls` under a second name, or about to be */

static __always_inline __u64 entry_sp(struct pt_regs *ctx, const struct up_probe *probe)
{
	return PT_REGS_SP(ctx) + (__s64)probe->sp_adjust;
}

/* Have thread_exit and thread_exec report this thread and its process. */
static __always_inline void thread_note_calls(void)
{
	struct up_thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
							BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, yes = 1;

	if (thread && thread->opened_calls)
		return;
	if (thread)
		thread->opened_calls = 1;
	bpf_map_update_elem(&callers, &tgid, &yes, BPF_ANY);
}

/* Stacks of threads made by the C library end at the thread control block, which fs points at. */
#define THREAD_STACK_MOST (16 << 20)

/*
 * Whether `sp` lies on the stack that the thread was born with, as far as can be told: just
 * below its control block, or the program's initial stack. Elsewhere is a coroutine's, which
 * may go on in another thread.
 */
static __always_inline bool is_on_own_stack(__u64 sp)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = bpf_get_current_task_btf(); /* read in place: on every call */
	__u64 control_block = task->thread.fsbase;
	__u64 initial = task->mm->start_stack;

	return control_block - sp < THREAD_STACK_MOST || initial - sp < THREAD_STACK_MOST;
#else
	return false;
#endif
}

/*
 * Take out a call that was looked up, and that began at `start_ns`; `is_it`: no other call can have
 * that element and that start. Its exit, the same name entered anew and the sweep may come at the
 * same time: whoever turns its start to 0 has it, and for the others it is not there any more. Only
 * who has it deletes the element, and as nobody can put one under a name that is in use, what is
 * deleted is that call and none that came since.
 */
static __always_inline bool call_claim(const struct up_call_key *key, struct up_call *call,
				       __u64 start_ns, bool is_it)
{
	if (!start_ns || __sync_val_compare_and_swap(&call->start_ns, start_ns, 0) != start_ns)
		return false;
	/* It may have been taken before, and the element have become another call's. */
	is_it = is_it || bpf_map_lookup_elem(&calls, key) == call;
	if (is_it && !bpf_map_delete_elem(&calls, key)) {
		if (key->probe & UP_CALL_SPARE)
			__sync_fetch_and_add(&spare_calls, -1);
		return true;
	}
	__sync_val_compare_and_swap(&call->start_ns, 0, start_ns);
	return false;
}

static __always_inline bool call_take(const struct up_call_key *key, struct up_call *taken)
{
	struct up_call *call = bpf_map_lookup_elem(&calls, key);

	if (!call)
		return false;
	*taken = *call;
	/* A thread's own that cannot go on elsewhere is nobody else's to take. */
	bool own = taken->on_own_stack && taken->tid == (__u32)bpf_get_current_pid_tgid();
	return call_claim(key, call, taken->start_ns, own);
}

/* What has the name of a call that begins was left without an exit. */
static __always_inline void call_overwrite(const struct up_call_key *key, __u32 own_slot)
{
	struct up_call taken;

	if (!call_take(key, &taken))
		return;
	struct up_slot *slot = slot_get(slot_number(own_slot, taken.group));
	if (slot)
		count(&slot->abandoned[UP_ABANDONED_UNWOUND]);
}

static __always_inline bool has_spares(void)
{
	return *(volatile __u32 *)&spare_calls;
}

#define KEEP_TRIES 4 /* threads may begin by the same name at once: USDT pairs with `key` */

/* Keep a call under one name: 0, or the error of the map. */
static __always_inline int call_keep_as(const struct up_call_key *key, const struct up_call *call,
					__u32 own_slot)
{
	/* An int: before 6.4 the kernel leaves the upper half of what maps return undefined. */
	int result = bpf_map_update_elem(&calls, key, call, BPF_NOEXIST);

	for (int i = 0; i < KEEP_TRIES && result == -EEXIST; i++) {
		call_overwrite(key, own_slot);
		result = bpf_map_update_elem(&calls, key, call, BPF_NOEXIST);
	}
	return result;
}

static __always_inline struct up_call_key second_name(const struct up_call_key *key)
{
	return (struct up_call_key){
		.sp = key->sp, .tgid = key->tgid, .probe = key->probe | UP_CALL_SPARE};
}

/*
 * What call_keep rarely does is in functions of their own, like frames_drop. They copy what they
 * are given: older kernels (6.1 is one) take what is on a program's own stack for keys and values.
 */
__noinline int call_keep_spare(const struct up_call_key *first, const struct up_call *given,
			       __u32 own_slot)
{
	if (!first || !given)
		return -EEXIST;
	struct up_call_key key = second_name(first);
	struct up_call call = *given;

	__sync_fetch_and_add(&spare_calls, 1); /* first: whoever looks for it must know */
	int result = call_keep_as(&key, &call, own_slot);
	if (result)
		__sync_fetch_and_add(&spare_calls, -1);
	return result;
}

/* A call that begins shows that what has its second name is over as well. */
__noinline int call_overwrite_spare(const struct up_call_key *first, __u32 own_slot)
{
	if (!first)
		return 0;
	struct up_call_key key = second_name(first);

	call_overwrite(&key, own_slot);
	return 0;
}

/* Keep a call under its name. It is counted in `slot`; `own_slot` is the series' own. */
static __always_inline void call_keep(const struct up_call_key *key, const struct up_call *call,
				      __u32 own_slot, struct up_slot *slot)
{
	int result = call_keep_as(key, call, own_slot);

	if (result == -EEXIST)
		result = call_keep_spare(key, call, own_slot);
	else if (has_spares())
		call_overwrite_spare(key, own_slot);
	if (result)
		count(&slot->lost[UP_LOST_IN_FLIGHT_FULL]);
}

/*
 * Take a call out and record it. False when there is none: entered before the probe was there, or
 * swept this very moment and accounted for. Of two by one name the second is the newer.
 */
static __always_inline bool call_finish(const struct up_call_key *key, __u64 now)
{
	struct up_probe *entry = probe_get(key->probe);
	struct up_call_key spare = second_name(key);
	struct up_call call;

	if (!(has_spares() && call_take(&spare, &call)) && !call_take(key, &call))
		return false;
	if (!entry || entry->generation != call.generation)
		return false;
	call_record(entry, call.group, call.start_ns, now);
	return true;
}

static __always_inline void call_open(struct pt_regs *ctx, __u32 id, const struct up_probe *probe,
				      __u32 group, struct up_slot *slot)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct up_call_key key = {.sp = entry_sp(ctx, probe), .tgid = pid_tgid >> 32, .probe = id};
	struct up_call call = {
		.tid = (__u32)pid_tgid, .generation = probe->generation, .group = group};

	thread_note_calls();
	call.on_own_stack = is_on_own_stack(key.sp);
	call.start_ns = bpf_ktime_get_ns();
	call_keep(&key, &call, probe->slot, slot);
}

/* An exit of a call of entry probe `id` was taken. */
static __always_inline void call_close(struct pt_regs *ctx, const struct up_probe *site, __u64 now)
{
	struct up_call_key key = {.sp = entry_sp(ctx, site),
				  .tgid = bpf_get_current_pid_tgid() >> 32,
				  .probe = site->entry};

	call_finish(&key, now);
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

/* For the sweep: whether the call that began then was still there, and is taken out. */
static __always_inline bool call_swept(const __u64 *arguments)
{
	struct up_call_key key = {.sp = arguments[UP_TAKE_SP],
				  .tgid = (__u32)arguments[UP_TAKE_TGID],
				  .probe = (__u32)arguments[UP_TAKE_PROBE]};
	struct up_call *call = bpf_map_lookup_elem(&calls, &key);

	return call && call_claim(&key, call, arguments[UP_TAKE_START_NS], true);
}

static __always_inline void leave_word(void *map, __u32 id, enum up_abandoned reason)
{
	struct up_ended word = {.when_ns = bpf_ktime_get_ns(), .reason = reason};

	bpf_map_update_elem(map, &id, &word, BPF_ANY);
}

/* The current thread ends. Whether it is the last of its process, which ends with it. */
static __always_inline bool calls_end_thread(bool opened)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tgid = pid_tgid >> 32;

	if (opened)
		leave_word(&ended_threads, (__u32)pid_tgid, UP_ABANDONED_THREAD_EXIT);
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return false;
	if (!bpf_map_delete_elem(&callers, &tgid))
		leave_word(&ended_processes, tgid, UP_ABANDONED_THREAD_EXIT);
	return true;
}

/* The process gets a new image: all of its calls end. */
static __always_inline void calls_end_image(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!bpf_map_delete_elem(&callers, &tgid))
		leave_word(&ended_processes, tgid, UP_ABANDONED_EXEC);
}

#endif
