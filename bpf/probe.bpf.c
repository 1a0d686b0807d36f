// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs that run on every hit: thin entry points over store.bpf.h. Compiled once a tier
 * (TIER_SESSION, TIER_MULTI, TIER_PERF), because an object that merely contains a kfunc or an
 * attach type the kernel does not know is refused as a whole.
 *
 *   session  one program sees both the entry and the return of a call
 *   multi    two programs, one link each
 *   perf     two programs, one perf event a function each
 *
 * `exit: none` probes always use `entry` alone: no return address is ever touched for them. USDT
 * sites have a program of their own, `mark`.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "marks.bpf.h"
#include "select.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Count an entry. True when the call's return should be seen. */
static __always_inline bool call_enter(struct pt_regs *ctx)
{
	__u32 id = bpf_get_attach_cookie(ctx);
	struct up_probe *probe = probe_get(id);

	if (!probe || !(probe->flags & UP_PROBE_ENABLED))
		return false;
	if (!is_selected(probe))
		return false;
	if (!condition_holds(ctx, probe))
		return false;
	__u32 group = group_now(probe);
	struct up_slot *slot = slot_get(slot_at_entry(probe->slot, &group));
	if (!slot)
		return false;
	count(&slot->entries);
	if (probe->flags & UP_PROBE_COUNT_ONLY)
		return false;
	if (probe->flags & UP_PROBE_RETURN_SITES) {
		call_open(ctx, id, probe, group, slot);
		return false;
	}
	return frame_push(ctx, id, probe, group, slot);
}

static __always_inline void call_leave(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(); /* first: our own work is not the function's */
	__u32 id = bpf_get_attach_cookie(ctx);
	struct up_thread *thread =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	struct up_probe *probe = probe_get(id);
	__u32 group = 0;

	if (!thread || !probe)
		return;
	__u64 start = frame_return(thread, id, probe, PT_REGS_SP(ctx) - RETURN_POPS, &group);
	if (start) /* else it was entered before the probe was there, or accounted for already */
		call_record(probe, group, start, now);
}

#ifdef TIER_SESSION
ORDINARY_STACK(session);
#else
ORDINARY_STACK(leave);
#endif
ORDINARY_STACK(entry);
ORDINARY_STACK(site);
ORDINARY_STACK(mark);

#ifdef TIER_SESSION
#ifdef SESSION_KFUNC_TAKES_CTX
extern bool bpf_session_is_return(void *ctx) __ksym;
#define IS_RETURN(ctx) bpf_session_is_return(ctx)
#else
extern bool bpf_session_is_return(void) __ksym;
#define IS_RETURN(ctx) bpf_session_is_return()
#endif

/* Answering an entry with 1 makes the kernel leave the return alone. */
SEC("kprobe")
int session(struct pt_regs *ctx)
{
	KEEP_ORDINARY_STACK(ctx, session);
	if (!IS_RETURN(ctx))
		return !call_enter(ctx);
	call_leave(ctx);
	return 0;
}
#else
SEC("kprobe")
int leave(struct pt_regs *ctx)
{
	KEEP_ORDINARY_STACK(ctx, leave);
	call_leave(ctx);
	return 0;
}
#endif

SEC("kprobe")
int entry(struct pt_regs *ctx)
{
	KEEP_ORDINARY_STACK(ctx, entry);
	call_enter(ctx);
	return 0;
}

/* On an instruction that leaves the function (`ret`, a jump out of the body). */
SEC("kprobe")
int site(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct up_probe *probe = probe_get(bpf_get_attach_cookie(ctx));

	KEEP_ORDINARY_STACK(ctx, site);
	if (probe && probe->flags & UP_PROBE_ENABLED && condition_holds(ctx, probe))
		call_close(ctx, probe, now);
	return 0;
}

/* On a USDT site. */
SEC("kprobe")
int mark(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct up_probe *probe = probe_get(bpf_get_attach_cookie(ctx));

	KEEP_ORDINARY_STACK(ctx, mark);
	if (probe && probe->flags & UP_PROBE_ENABLED)
		mark_hit(ctx, probe, now);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int thread_exit(void *ctx)
{
	if (calls_end_thread(frames_drain(UP_ABANDONED_THREAD_EXIT)))
		select_ended();
	return 0;
}

/* Arguments of the tracepoint: the parent, which is current, and the child. */
SEC("tp_btf/sched_process_fork")
int thread_fork(__u64 *ctx)
{
	select_forked((struct task_struct *)ctx[1]);
	return 0;
}

/* Arguments: the cgroup, its path, the task. */
SEC("tp_btf/cgroup_attach_task")
int cgroup_moved(__u64 *ctx)
{
	select_moved((struct task_struct *)ctx[2]);
	return 0;
}

/* Run by the exporter itself. */
SEC("raw_tp")
int decide(struct bpf_raw_tracepoint_args *ctx)
{
	return select_decided(ctx->args);
}

SEC("raw_tp")
int take(struct bpf_raw_tracepoint_args *ctx)
{
	return call_swept(ctx->args);
}

/* Arguments: the task, the id that it had until now, and what is started. */
SEC("tp_btf/sched_process_exec")
int thread_exec(__u64 *ctx)
{
	frames_drain(UP_ABANDONED_EXEC);
	calls_end_image();
	select_started(ctx[1]);
	return 0;
}
