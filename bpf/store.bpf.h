/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histograms and calls in flight.
 *
 * A thread's open calls are frames on a stack in its task storage, ordered by the user stack
 * pointer at entry. The stack pointer tells the truth about which calls are over: the machine
 * stack grows down, so when an event happens at `sp`, every frame saved at a lower sp has been
 * left, whether we saw its return or not (longjmp, exceptions). Such dead frames are dropped and
 * counted as abandoned at the thread's next event, and never matched to a later return.
 */
#ifndef UP_STORE_BPF_H
#define UP_STORE_BPF_H

#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "cells.h"
#include "kernel_types.h"
#include "maps.bpf.h"

/* What `ret` adds to the stack pointer: a return handler sees it after the fact. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_POPS 8
#else
#define RETURN_POPS 0
#endif

/* Count one observed duration. The cell comes first: the sum may lag, never lead. */
static __always_inline void histogram_add(const struct up_probe *probe, __u32 number, __u64 ns)
{
	__u32 table = probe->bounds;
	struct up_bounds *b = bpf_map_lookup_elem(&bounds, &table);

	if (!b)
		return;
	__u32 cell = up_cell(b, ns);
	struct up_slot *first = slot_get(number), *slot = first;
	if (cell >= UP_SLOT_CELLS) {
		cell -= UP_SLOT_CELLS;
		slot = slot_get(number + 1);
	}
	if (!first || !slot || cell >= UP_SLOT_CELLS)
		return;
	count(&slot->cells[cell]);
	__sync_fetch_and_add(&first->sum_ns, ns);
}

/* Count a call that was seen from entry to exit, in the group that it was entered in. */
static __always_inline void call_record(const struct up_probe *probe, __u32 group, __u64 start,
					__u64 now)
{
	__u32 number = slot_number(probe->slot, group);

	if (now >= start) {
		histogram_add(probe, number, now - start);
		return;
	}
	struct up_slot *slot = slot_get(number);
	if (slot)
		count(&slot->lost[UP_LOST_CLOCK]);
}

static __always_inline struct up_probe *probe_get(__u32 id)
{
	return bpf_map_lookup_elem(&probes, &id);
}

/*
 * Frame `i`, which must be below UP_MAX_DEPTH: the mask is for the verifier, and the barrier keeps
 * the compiler from dropping it where it knows better.
 */
static __always_inline struct up_frame *frame_at(struct up_thread *thread, __u32 i)
{
	barrier_var(i);
	return &thread->frames[i & (UP_MAX_DEPTH - 1)];
}

/* Account for a probe that waits for a return that will not be seen. */
static __always_inline void abandon(const struct up_waiting *waiting, __u32 group, __u32 reason)
{
	__u32 generation = waiting->generation, number;
	struct up_probe *probe = probe_get(waiting->probe);

	if (!generation)
		return; /* nobody waits */
	if (probe && probe->generation == generation) {
		number = probe->slot;
		if (!(probe->flags & UP_PROBE_ENABLED))
			reason = UP_ABANDONED_DETACHED;
	} else {
		__u32 *kept = bpf_map_lookup_elem(&retired, &generation);
		if (!kept)
			return; /* the series is gone, and nobody reads its counters */
		number = *kept;
		reason = UP_ABANDONED_DETACHED;
	}
	struct up_slot *slot = slot_get(slot_number(number, group));
	barrier_var(reason);
	if (slot)
		count(&slot->abandoned[reason & (UP_ABANDONED_ROOM - 1)]);
}

/*
 * What happens to dead frames is rare and long, so it is not part of the programs but in global
 * functions, which the verifier looks at once, each by itself. They return an int because such
 * functions must return something.
 */
__noinline int frame_abandon(const struct up_frame *frame, __u32 reason)
{
	if (!frame)
		return 0;
	for (int i = 0; i < UP_SITE_PROBES; i++)
		abandon(&frame->waiting[i], frame->grouped & 1 << i ? frame->group : 0, reason);
	return 0;
}

static __always_inline bool frame_is_empty(const struct up_frame *frame)
{
	__u32 waiting = 0;

	for (int i = 0; i < UP_SITE_PROBES; i++)
		waiting |= frame->waiting[i].generation;
	return !waiting;
}

/*
 * Drop the frames that an event at `sp` shows to be dead, those saved below it, and those that
 * nobody waits for any more. Returns the depth that is left.
 */
__noinline int frames_drop(struct up_thread *thread, __u64 sp)
{
	if (!thread)
		return 0;
	__u32 depth = thread->depth;

	for (int i = 0; i < UP_MAX_DEPTH; i++) {
		__u32 top = depth - 1;
		if (top >= UP_MAX_DEPTH)
			break;
		struct up_frame *frame = frame_at(thread, top);
		if (frame->sp >= sp && !frame_is_empty(frame))
			break;
		frame_abandon(frame, UP_ABANDONED_UNWOUND);
		depth = top;
	}
	thread->depth = depth;
	return (int)depth;
}

/* The same, without the call in the usual case that nothing is dead. */
static __always_inline __u32 frames_drop_dead(struct up_thread *thread, __u64 sp)
{
	__u32 depth = thread->depth;
	struct up_frame *top = frame_at(thread, depth - 1);

	if (!depth || (top->sp >= sp && !frame_is_empty(top)))
		return depth;
	return (__u32)frames_drop(thread, sp);
}

/* The address the probed function will return to, at its entry. */
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	__u64 address = 0;
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_SP(ctx));
#else
	address = PT_REGS_RET(ctx);
#endif
	return address;
}

/*
 * Whether this entry is a tail call from a function whose return is already hijacked: it would
 * return to the kernel's trampoline. Tells a function that re-enters itself by a jump (both
 * calls end) from one that was left by longjmp and called again at the same depth (the first
 * never ends). The kernel decides in the same way (kernel/events/uprobes.c, prepare_uretprobe).
 */
static __always_inline bool is_tail_call(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);

	return trampoline && return_address(ctx) == trampoline;
}

/*
 * Whether the kernel will see this call's return. It keeps a bounded number of pending ones a
 * thread, and those that longjmp left behind count until an older return is seen.
 */
static __always_inline bool kernel_has_room(void)
{
	struct task_struct *task = bpf_get_current_task_btf(); /* read in place: on every call */

	if (!bpf_core_field_exists(struct uprobe_task, depth))
		return true;
	return task->utask->depth < UP_MAX_DEPTH;
}

/*
 * Whether a probe's entry belongs to the event that `frame` was opened for: another probe on the
 * same instruction came first.
 */
static __always_inline bool may_join(const struct up_frame *frame, const struct up_probe *probe)
{
	return frame->site == probe->site && !frame->returning &&
	       !frame->waiting[probe->member % UP_SITE_PROBES].generation;
}

static __always_inline void frame_join(struct up_frame *frame, __u32 id,
				       const struct up_probe *probe, __u32 group)
{
	struct up_waiting *waiting = &frame->waiting[probe->member % UP_SITE_PROBES];

	waiting->probe = id;
	waiting->generation = probe->generation;
	if (!group)
		return;
	frame->group = group;
	frame->grouped |= 1 << probe->member % UP_SITE_PROBES;
}

/*
 * Open a frame for a call of probe `id`. Returns true when the return is worth waiting for;
 * otherwise the call has been accounted for.
 */
static __always_inline bool frame_push(struct pt_regs *ctx, __u32 id, const struct up_probe *probe,
				       __u32 group, struct up_slot *slot)
{
	__u64 sp = PT_REGS_SP(ctx);
	struct up_thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
							BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread) {
		count(&slot->lost[UP_LOST_IN_FLIGHT_FULL]);
		return false;
	}
	__u32 depth = frames_drop_dead(thread, sp);
	__u32 top = depth - 1;
	if (top < UP_MAX_DEPTH && frame_at(thread, top)->sp == sp) {
		if (may_join(frame_at(thread, top), probe)) {
			frame_join(frame_at(thread, top), id, probe, group);
			return true;
		}
		/* At one sp either the older call goes on as this one, or it is over. */
		if (!is_tail_call(ctx))
			depth = frames_drop_dead(thread, sp + 1);
	}
	if (depth >= UP_MAX_DEPTH || !kernel_has_room()) {
		count(&slot->abandoned[UP_ABANDONED_DEPTH]);
		return false;
	}
	struct up_frame *frame = frame_at(thread, depth);
	__builtin_memset(frame, 0, sizeof(*frame));
	frame->sp = sp;
	frame->site = probe->site;
	frame_join(frame, id, probe, group);
	thread->depth = depth + 1;
	frame->start_ns = bpf_ktime_get_ns(); /* last: our own work is not the function's */
	return true;
}

/*
 * The start time and group of the call that probe `id` waits for at `sp`, or 0 if there is none; it
 * waits no more. Functions that tail-call each other share one sp, so it need not be the top frame.
 */
static __always_inline __u64 frame_return(struct up_thread *thread, __u32 id,
					  const struct up_probe *probe, __u64 sp, __u32 *group)
{
	__u32 depth = frames_drop_dead(thread, sp);

	for (__u32 below = 1; below <= UP_MAX_DEPTH; below++) {
		__u32 at = depth - below;
		struct up_frame *frame = frame_at(thread, at);
		if (at >= UP_MAX_DEPTH || frame->sp != sp)
			break;
		struct up_waiting *waiting = &frame->waiting[probe->member % UP_SITE_PROBES];
		if (frame->site != probe->site || waiting->probe != id ||
		    waiting->generation != probe->generation)
			continue;
		waiting->generation = 0;
		frame->returning = 1;
		if (frame->grouped & 1 << probe->member % UP_SITE_PROBES)
			*group = frame->group;
		if (below == 1 && frame_is_empty(frame)) /* nearly always */
			thread->depth = at;
		return frame->start_ns;
	}
	return 0;
}

/*
 * The thread's calls all end here: it exits, or its image is replaced. Returns whether it has
 * calls in `calls` as well.
 */
static __always_inline bool frames_drain(enum up_abandoned reason)
{
	struct up_thread *thread =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);

	if (!thread)
		return false;
	for (__u32 i = 0; i < UP_MAX_DEPTH; i++) {
		if (i >= thread->depth)
			break;
		frame_abandon(frame_at(thread, i), reason);
	}
	thread->depth = 0;
	bool opened = thread->opened_calls;
	thread->opened_calls = 0;
	return opened;
}

#endif
