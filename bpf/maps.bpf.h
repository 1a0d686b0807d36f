/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps, and the way from a probe's slot number to its memory. Sizes marked "at load" are
 * placeholders: kernel/object.c sets them from the config's limits.
 */
#ifndef UP_MAPS_BPF_H
#define UP_MAPS_BPF_H

#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>

#include "contract.h"

/* Copies of each slot; a CPU uses copy (CPU number modulo this). Set at load. */
const volatile __u32 up_shards = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* at load */
	__type(key, __u32);
	__type(value, struct up_probe);
} probes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UP_BOUNDS_TABLES + 1);
	__type(key, __u32);
	__type(value, struct up_bounds);
} bounds SEC(".maps");

/* Chunk number → array of struct up_slot, UP_CHUNK_SLOTS times shards long (given at load). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* at load */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct up_thread);
} threads SEC(".maps");

/* Preallocated and never LRU: an LRU map drops live calls long before it is full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* at load */
	__type(key, struct up_call_key);
	__type(value, struct up_call);
} calls SEC(".maps");

#define ENDED_MAP(name)                                                                            \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, UP_ENDED_ROOM);                                                \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, __u32);                                                                \
		__type(value, struct up_ended);                                                    \
	} name SEC(".maps")
ENDED_MAP(ended_threads);
ENDED_MAP(ended_processes);

/* Processes that have calls in `calls`, or had: their end is worth a word. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_ENDED_ROOM);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} callers SEC(".maps");

/* Generation of a probe record that is no more → slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UP_RETIRED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} retired SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* at load */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct up_grouped_key);
	__type(value, __u32);
} grouped SEC(".maps");

/*
 * Since 6.13 the kernel gives programs of this type that use 64 bytes of stack or more a stack for
 * each CPU, taking it that they are not preempted. On uprobes they are: two threads on one CPU
 * then write over each other's variables, up to a crash of the kernel (seen on 7.2). A program
 * that contains a tail call keeps the ordinary stack (kernel/bpf/verifier.c,
 * check_max_stack_depth). So each has one that is never made and would lead nowhere; a map of its
 * own, because those that share one must be of one attach type.
 */
#define ORDINARY_STACK(program)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                             \
		__uint(max_entries, 1);                                                            \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, sizeof(__u32));                                                 \
	} nowhere_##program SEC(".maps")

#define KEEP_ORDINARY_STACK(ctx, program)                                                          \
	do {                                                                                       \
		if (!up_shards)                                                                    \
			bpf_tail_call(ctx, &nowhere_##program, 0);                                 \
	} while (0)

/* This CPU's copy of a slot; NULL when the slot's chunk does not exist. */
static __always_inline struct up_slot *slot_get(__u32 slot)
{
	__u32 chunk = slot / UP_CHUNK_SLOTS;
	__u32 shard = bpf_get_smp_processor_id();
	void *inner = bpf_map_lookup_elem(&chunks, &chunk);

	if (!inner)
		return NULL;
	if (shard >= up_shards)
		shard %= up_shards;
	__u32 key = slot % UP_CHUNK_SLOTS * up_shards + shard;
	return bpf_map_lookup_elem(inner, &key);
}

/* The number of the slot in which a series counts the calls of a group. */
static __always_inline __u32 slot_number(__u32 slot, __u32 group)
{
	struct up_grouped_key key = {.slot = slot, .group = group};

	if (!group)
		return slot;
	__u32 *found = bpf_map_lookup_elem(&grouped, &key);
	return found ? *found : slot;
}

/* The same at a call's entry: what has no slot for the group is of none until its end. */
static __always_inline __u32 slot_at_entry(__u32 slot, __u32 *group)
{
	__u32 number = slot_number(slot, *group);

	if (number == slot)
		*group = 0;
	return number;
}

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

#endif
