/*
 * The demo: a small "server" whose functions take from microseconds to tens of milliseconds, so
 * that its histograms are worth looking at. Plain C, a few threads, runs until it is told to stop
 * (SIGTERM, SIGINT). demo [SECONDS]: with a number it stops by itself and prints how often each
 * function was called and quantiles of their durations by its own clock.
 *
 *     hash_key      ~2 us     every step of every request
 *     parse_request ~50 us    with a tail of some 200 us
 *     run_query     ~1 ms     0.5 to 2 ms
 *     flush_log     ~20 ms    10 to 40 ms, from a thread of its own
 *     walk_tree     recursive, 8 deep, some microseconds a level
 */
#include "victim.h"

#include <pthread.h>
#include <signal.h>

#define WORKERS 3

static volatile sig_atomic_t stopped;
static volatile uint64_t sink;

#define KEPT 65536 /* durations of a function that are kept for the quantiles */

enum counted { HASH_KEY, PARSE_REQUEST, RUN_QUERY, FLUSH_LOG, WALK_TREE, COUNTED };
static const char *const names[COUNTED] = {"hash_key", "parse_request", "run_query", "flush_log",
					   "walk_tree"};
static unsigned long calls[COUNTED];
static uint64_t durations[COUNTED][KEPT];

/* Note a call that began at `begin_ns`; the clock is read within the function, so that what a
 * probe costs outside of it is not the demo's own time. */
static void note(enum counted which, uint64_t begin_ns)
{
	unsigned long n = __atomic_fetch_add(&calls[which], 1, __ATOMIC_RELAXED);

	durations[which][n % KEPT] = now_ns() - begin_ns;
}

/* A generator a thread: the same sequence in every run. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		sink++;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
			     .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

PROBED uint64_t hash_key(uint64_t key)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < 1500; i++)
		key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9u;
	note(HASH_KEY, begin + (key == 0)); /* the key is used: the loop stays before the clock */
	return key;
}

PROBED void parse_request(uint32_t *random)
{
	uint64_t begin = now_ns();

	spin_ns(next_random(random) % 20 ? 50000 : 200000);
	note(PARSE_REQUEST, begin);
}

PROBED void run_query(uint32_t *random)
{
	uint64_t begin = now_ns();

	sleep_ns(500000 + next_random(random) % 1500000);
	note(RUN_QUERY, begin);
}

PROBED void flush_log(uint32_t *random)
{
	uint64_t begin = now_ns();

	sleep_ns(10000000 + next_random(random) % 3000 * 10000ul);
	note(FLUSH_LOG, begin);
}

PROBED uint64_t walk_tree(int depth)
{
	uint64_t begin = now_ns(), found;

	spin_ns(3000);
	found = depth > 1 ? walk_tree(depth - 1) : 1;
	note(WALK_TREE, begin);
	return found + (uint64_t)depth;
}

static void *serve(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	while (!stopped) {
		parse_request(&random);
		for (int i = 0; i < 4; i++)
			sink += hash_key(random + (uint32_t)i);
		run_query(&random);
		sink += walk_tree(8);
		sleep_ns(2000000);
	}
	return NULL;
}

static void *flush(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;

	while (!stopped) {
		flush_log(&random);
		sleep_ns(30000000);
	}
	return NULL;
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(void)
{
	say("{\"calls\":{");
	for (int i = 0; i < COUNTED; i++)
		say("%s\"%s\":%lu", i ? "," : "", names[i], calls[i]);
	say("},\"ns\":{");
	for (int i = 0; i < COUNTED; i++) {
		size_t n = calls[i] < KEPT ? calls[i] : KEPT;
		const uint64_t *d = durations[i];

		qsort(durations[i], n, sizeof(durations[i][0]), ascending);
		say("%s\"%s\":{\"0.5\":%lu,\"0.9\":%lu,\"0.99\":%lu}", i ? "," : "", names[i],
		    d[n / 2], d[n * 9 / 10], d[n * 99 / 100]);
	}
	say("}}\n");
}

int main(int argc, char **argv)
{
	long seconds = argument(argc, argv, 1, 0);
	pthread_t threads[WORKERS + 1];

	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(i + 1));
	pthread_create(&threads[WORKERS], NULL, flush, (void *)99L);
	say("ready %d\n", (int)getpid());
	for (uint64_t begin = now_ns(); !stopped; sleep_ns(100000000)) {
		if (seconds && now_ns() - begin > (uint64_t)seconds * 1000000000u)
			stopped = 1;
	}
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	report();
	return 0;
}
