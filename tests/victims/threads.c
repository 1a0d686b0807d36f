/*
 * Many threads call one function: threads [THREADS] [CALLS] [early|late|headless]. With `early` the
 * threads exist before `ready` is printed, with `late` they are started by each round. With
 * `headless` the first thread ends before that.
 */
#include "victim.h"

#include <pthread.h>
#include <string.h>

static long n_threads, n_calls;
static pthread_barrier_t start, done;
static pthread_t first;
static volatile uint64_t sink;

PROBED uint64_t work(uint64_t x)
{
	return x * 2862933555777941757u + 3037000493u;
}

static void call_all(void)
{
	uint64_t x = 1;

	for (long i = 0; i < n_calls; i++)
		x = work(x);
	sink = x;
}

static void *late_thread(void *unused)
{
	call_all();
	return unused;
}

static void *early_thread(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&start);
		call_all();
		pthread_barrier_wait(&done);
	}
	return unused;
}

static void round_late(pthread_t *threads)
{
	for (long i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, late_thread, NULL);
	for (long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

static void rounds(pthread_t *threads, bool early)
{
	for (bool more = ready(); more; more = next_round()) {
		uint64_t begin = now_ns();

		if (early) {
			pthread_barrier_wait(&start);
			pthread_barrier_wait(&done);
		} else {
			round_late(threads);
		}
		say("{\"calls\":{\"work\":%ld},\"wall_ns\":%lu}\n", n_threads * n_calls,
		    (unsigned long)(now_ns() - begin));
	}
	_exit(0); /* the early threads wait for ever */
}

static void *rounds_of_another(void *threads)
{
	pthread_join(first, NULL);
	rounds(threads, false);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *when = argc > 3 ? argv[3] : "late";
	bool early = strcmp(when, "early") == 0;
	pthread_t *threads, other;

	n_threads = argument(argc, argv, 1, 4);
	n_calls = argument(argc, argv, 2, 250000);
	threads = calloc((size_t)n_threads, sizeof(*threads));
	pthread_barrier_init(&start, NULL, (unsigned)n_threads + 1);
	pthread_barrier_init(&done, NULL, (unsigned)n_threads + 1);
	for (long i = 0; early && i < n_threads; i++)
		pthread_create(&threads[i], NULL, early_thread, NULL);
	if (strcmp(when, "headless") == 0) {
		first = pthread_self();
		pthread_create(&other, NULL, rounds_of_another, threads);
		pthread_exit(NULL);
	}
	rounds(threads, early);
}
