/* Walking the words that the programs left, and `calls`. */
#include "kernel/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "bpf/contract.h"

struct ended {
	uint32_t id; /* tid or tgid */
	struct up_ended word;
};

struct ended_list { /* grows with vec_push */
	struct ended *at;
	size_t n, room;
};

struct sweep {
	const struct object *object;
	struct maps *maps;
	struct ended_list threads, processes;
	const bool *detached; /* by probe id; NULL: the words are what counts */
	unsigned abandoned;
};

enum { BATCH = 2048 }; /* more than a bucket ever holds */

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct ended *)a)->id, y = ((const struct ended *)b)->id;

	return x < y ? -1 : x > y;
}

/* Copy every word of one map, in the order of ids; those that come meanwhile wait for next time. */
static void read_words(int map_fd, struct ended_list *list)
{
	uint32_t ids[256], cursor = 0;
	struct up_ended words[256];
	bool first = true;
	int error = 0;

	while (!error) {
		uint32_t n = 256;
		if (bpf_map_lookup_batch(map_fd, first ? NULL : &cursor, &cursor, ids, words, &n,
					 NULL))
			error = errno; /* ENOENT: the end, with what came before it in n */
		if (error && error != ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++) {
			struct ended *ended = vec_push(list);
			*ended = (struct ended){.id = ids[i], .word = words[i]};
		}
		first = false;
	}
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_id);
}

/* Words that were acted on are taken out, unless they were written anew meanwhile. */
static void drop_words(int map_fd, const struct ended_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct ended *ended = &list->at[i];
		struct up_ended now;
		if (!bpf_map_lookup_elem(map_fd, &ended->id, &now) &&
		    now.when_ns == ended->word.when_ns)
			bpf_map_delete_elem(map_fd, &ended->id);
	}
}

/* The word that says that a call entered at `start_ns` is over; NULL while it may go on. */
static const struct up_ended *find_word(const struct ended_list *list, uint32_t id,
					uint64_t start_ns)
{
	struct ended key = {.id = id};
	const struct ended *found =
		list->n ? bsearch(&key, list->at, list->n, sizeof(key), by_id) : NULL;

	if (!found || start_ns >= found->word.when_ns || found->word.reason >= UP_ABANDONED_REASONS)
		return NULL;
	return &found->word;
}

static uint32_t probe_of(const struct up_call_key *key)
{
	return key->probe & ~UP_CALL_SPARE;
}

/* Whether that very call was still there, and is out now: its exit may come at the same time. */
static bool take(const struct sweep *sweep, const struct up_call_key *key,
		 const struct up_call *call)
{
	uint64_t arguments[UP_TAKE_ARGUMENTS] = {
		[UP_TAKE_SP] = key->sp,
		[UP_TAKE_TGID] = key->tgid,
		[UP_TAKE_PROBE] = key->probe,
		[UP_TAKE_START_NS] = call->start_ns,
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));

	return !bpf_prog_test_run_opts(sweep->object->prog_take, &options) && options.retval;
}

/*
 * Take a call out and count it. The series is asked for first: once the call is out, nothing keeps
 * another thread from giving the probe's records back.
 */
static void abandon(struct sweep *sweep, const struct up_call_key *key, const struct up_call *call,
		    enum up_abandoned reason)
{
	int series = maps_series_of(sweep->maps, (int)probe_of(key), call->generation);

	if (!take(sweep, key, call))
		return;
	maps_abandon(sweep->maps, series, call->group, reason);
	sweep->abandoned++;
}

static void judge(struct sweep *sweep, const struct up_call_key *key, const struct up_call *call)
{
	if (!call->start_ns)
		return; /* is being taken out by another one, who counts it */
	if (sweep->detached) {
		if (probe_of(key) < sweep->object->sizes.probes && sweep->detached[probe_of(key)])
			abandon(sweep, key, call, UP_ABANDONED_DETACHED);
		return;
	}
	const struct up_ended *word = find_word(&sweep->processes, key->tgid, call->start_ns);

	if (!word && call->on_own_stack)
		word = find_word(&sweep->threads, call->tid, call->start_ns);
	if (word)
		abandon(sweep, key, call, (enum up_abandoned)word->reason);
}

/* 0 when the whole map was seen. */
static int walk_calls(struct sweep *sweep)
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
			error = errno;
		if (error && error != ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			judge(sweep, &keys[i], &calls[i]);
		first = false;
	}
	free(keys);
	free(calls);
	return error == ENOENT ? 0 : -error;
}

unsigned sweep_calls(const struct object *object, struct maps *maps)
{
	struct sweep sweep = {.object = object, .maps = maps};

	read_words(object->map_ended_threads, &sweep.threads);
	read_words(object->map_ended_processes, &sweep.processes);
	if ((sweep.threads.n || sweep.processes.n) && !walk_calls(&sweep)) {
		drop_words(object->map_ended_threads, &sweep.threads);
		drop_words(object->map_ended_processes, &sweep.processes);
	}
	vec_fini(&sweep.threads);
	vec_fini(&sweep.processes);
	return sweep.abandoned;
}

unsigned sweep_detached(const struct object *object, struct maps *maps, const int *entries,
			size_t n)
{
	_cleanup_free_ bool *detached = alloc_zero(object->sizes.probes, sizeof(*detached));
	struct sweep sweep = {.object = object, .maps = maps, .detached = detached};

	for (size_t i = 0; i < n; i++)
		detached[entries[i]] = true;
	walk_calls(&sweep);
	return sweep.abandoned;
}
