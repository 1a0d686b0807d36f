/* Walking `ended` and `calls`. */
#include "kernel/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/vec.h"
#include "bpf/contract.h"

struct ended_thread {
	uint32_t tid;
	struct up_ended word;
};

struct ended_list { /* grows with vec_push */
	struct ended_thread *at;
	size_t n, room;
};

/* Take every word out of `ended`; bounded, since threads go on ending meanwhile. */
static void take_ended(int map_fd, struct ended_list *list)
{
	uint32_t tid;

	while (list->n < UP_ENDED_ROOM && !bpf_map_get_next_key(map_fd, NULL, &tid)) {
		struct up_ended word;
		if (bpf_map_lookup_elem(map_fd, &tid, &word) || bpf_map_delete_elem(map_fd, &tid))
			break;
		struct ended_thread *thread = vec_push(list);
		thread->tid = tid;
		thread->word = word;
	}
}

static int by_tid(const void *a, const void *b)
{
	uint32_t x = ((const struct ended_thread *)a)->tid,
		 y = ((const struct ended_thread *)b)->tid;

	return x < y ? -1 : x > y;
}

static const struct ended_thread *find(const struct ended_list *list, uint32_t tid)
{
	struct ended_thread key = {.tid = tid};

	return bsearch(&key, list->at, list->n, sizeof(key), by_tid);
}

struct sweep {
	const struct object *object;
	struct maps *maps;
	struct ended_list ended;
	unsigned abandoned;
};

/* Remove one call unless it was entered anew under the same name since it was looked at. */
static void abandon(struct sweep *sweep, const struct up_call_key *key, const struct up_call *call)
{
	const struct ended_thread *thread = find(&sweep->ended, call->tid);
	struct up_call now;

	if (!thread || call->start_ns >= thread->word.when_ns ||
	    thread->word.reason >= UP_ABANDONED_REASONS)
		return;
	if (bpf_map_lookup_elem(sweep->object->map_calls, key, &now) ||
	    now.start_ns != call->start_ns || bpf_map_delete_elem(sweep->object->map_calls, key))
		return;
	maps_abandon(sweep->maps, (int)key->probe, (enum up_abandoned)thread->word.reason);
	sweep->abandoned++;
}

enum { BATCH = 2048 }; /* more than a bucket ever holds */

static void walk_calls(struct sweep *sweep)
{
	struct up_call_key *keys = alloc_zero(BATCH, sizeof(*keys));
	struct up_call *calls = alloc_zero(BATCH, sizeof(*calls));
	uint32_t cursor = 0;
	bool first = true;
	int error = 0;

	while (!error) {
		uint32_t n = BATCH;
		if (bpf_map_lookup_batch(sweep->object->map_calls, first ? NULL : &cursor, &cursor,
					 keys, calls, &n, NULL))
			error = errno; /* ENOENT: the end, with what came before it in n */
		if (error && error != ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			abandon(sweep, &keys[i], &calls[i]);
		first = false;
	}
	free(keys);
	free(calls);
}

unsigned sweep_calls(const struct object *object, struct maps *maps)
{
	struct sweep sweep = {.object = object, .maps = maps};

	take_ended(object->map_ended, &sweep.ended);
	if (sweep.ended.n) {
		qsort(sweep.ended.at, sweep.ended.n, sizeof(*sweep.ended.at), by_tid);
		walk_calls(&sweep);
	}
	vec_fini(&sweep.ended);
	return sweep.abandoned;
}
