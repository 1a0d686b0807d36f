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
static __always_inline void histogram_add(const struct up_probe *probe, __u64 ns)
{
	__u32 table = probe->bounds;
	struct up_bounds *b = bpf_map_lookup_elem(&bounds, &table);

	if (!b)
		return;
	__u32 cell = up_cell(b, ns);
	struct up_slot *first = slot_get(probe->slot), *slot = first;
	if (cell >= UP_SLOT_CELLS) {
		cell -= UP_SLOT_CELLS;
		slot = slot_get(probe->slot + 1);
	}
	if (!first || !slot || cell >= UP_SLOT_CELLS)
		return;
	count(&slot->cells[cell]);
	__sync_fetch_and_add(&first->sum_ns, ns);
}

/* Count a call that was seen from entry to exit. */
static __always_inline void call_record(const struct up_probe *probe, __u64 start, __u64 now)
{
	if (now >= start) {
		histogram_add(probe, now - start);
		return;
	}
	struct up_slot *slot = slot_get(probe->slot);
	if (slot)
		count(&slot->lost[UP_LOST_CLOCK]);
}

static __always_inline struct up_probe *probe_get(__u32 id)
{
	return bpf_map_lookup_elem(&probes, &id);
}

/* Account for a frame whose return will not be seen. */
static __always_inline void frame_abandon(const struct up_frame *frame, enum up_abandoned reason)
{
	struct up_probe *probe = probe_get(frame->probe);

	if (!probe || probe->generation != frame->generation)
		return; /* the series is gone: nobody reads its counters */
	if (!(probe->flags & UP_PROBE_ENABLED))
		reason = UP_ABANDONED_DETACHED;
	struct up_slot *slot = slot_get(probe->slot);
	if (slot && reason < UP_ABANDONED_REASONS)
		count(&slot->abandoned[reason]);
}

/* A frame whose call has ended while a younger one at the same sp was still open. */
#define FRAME_CLOSED (~0U)

/* Drop the frames that an event at `sp` shows to be dead, those saved below it. Returns the depth
 * that is left. */
static __always_inline __u32 frames_drop_dead(struct up_thread *thread, __u64 sp)
{
	__u32 depth = thread->depth;

	for (int i = 0; i < UP_MAX_DEPTH; i++) {
		__u32 top = depth - 1;
		if (top >= UP_MAX_DEPTH)
			break;
		if (thread->frames[top].sp >= sp && thread->frames[top].probe != FRAME_CLOSED)
			break;
		frame_abandon(&thread->frames[top], UP_ABANDONED_UNWOUND);
		depth = top;
	}
	thread->depth = depth;
	return depth;
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
 * Whether a frame at the very sp of a new entry is over. It lives on when the new call is a tail
 * call from it, or when both belong to one event: two probes on the same instruction.
 */
static __always_inline bool is_dead_at_same_sp(struct pt_regs *ctx, const struct up_frame *frame,
					       __u32 id, const struct up_probe *probe)
{
	struct up_probe *other = probe_get(frame->probe);

	if (frame->probe != id && other && other->site == probe->site)
		return false;
	return !is_tail_call(ctx);
}

/*
 * Open a frame for a call of probe `id`. Returns true when the return is worth waiting for;
 * otherwise the call has been accounted for.
 */
static __always_inline bool frame_push(struct pt_regs *ctx, __u32 id, const struct up_probe *probe,
				       struct up_slot *slot)
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
	if (top < UP_MAX_DEPTH && thread->frames[top].sp == sp &&
	    is_dead_at_same_sp(ctx, &thread->frames[top], id, probe))
		depth = frames_drop_dead(thread, sp + 1);
	if (depth >= UP_MAX_DEPTH) {
		count(&slot->abandoned[UP_ABANDONED_DEPTH]);
		return false;
	}
	struct up_frame *frame = &thread->frames[depth];
	frame->sp = sp;
	frame->probe = id;
	frame->generation = probe->generation;
	thread->depth = depth + 1;
	frame->start_ns = bpf_ktime_get_ns(); /* last: our own work is not the function's */
	return true;
}

/* Functions that tail-call each other share one sp: look this far down for the right one. */
#define MAX_TAIL_CALLS 8

/* Take the frame of probe `id` at `sp` off the stack; its start time, or 0 if there is none. */
static __always_inline __u64 frame_pop(struct up_thread *thread, __u32 id, __u64 sp)
{
	__u32 depth = frames_drop_dead(thread, sp);
	__u64 start_ns = 0;

	for (__u32 below = 1; below <= MAX_TAIL_CALLS; below++) {
		__u32 at = depth - below;
		if (at >= UP_MAX_DEPTH || thread->frames[at].sp != sp)
			break;
		if (thread->frames[at].probe != id)
			continue;
		start_ns = thread->frames[at].start_ns;
		thread->frames[at].probe = FRAME_CLOSED;
		if (below == 1) /* nearly always: the frame is the top one */
			thread->depth = at;
		break;
	}
	return start_ns;
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
		frame_abandon(&thread->frames[i], reason);
	}
	thread->depth = 0;
	bool opened = thread->opened_calls;
	thread->opened_calls = 0;
	return opened;
}

#endif
