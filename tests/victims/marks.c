/*
 * USDT sites: marks [CALLS] [THREADS] [LIBRARY]. Each round passes every kind of them a known
 * number of times and says how often, and what the semaphores are meanwhile.
 *
 * marks:hit    three inlined sites, whose argument lies elsewhere in each; other:hit, one
 * work         begins and ends on one thread, in two functions, on several threads at once
 * request      begins on one thread and ends on another, named by its first argument
 * again        begins twice before it ends: the first is overwritten
 * orphan       ends without having begun
 * nap          takes a known time
 * gated        two sites, each of which is passed only while its semaphore is raised
 * LIBRARY      libmarks.so, which has sites of its own
 */
#include "victim.h"

#ifndef STATIC
#include <dlfcn.h>
#endif
#include <pthread.h>

#include "notes.h"

static long n_calls, n_threads;
static long nap_ns;
SEMAPHORE(first_gate);
SEMAPHORE(second_gate);

static inline __attribute__((always_inline)) void hit_in_memory(long x)
{
	__asm__ volatile(MARK("marks", "hit", "0", "-8@%0") : : "m"(x));
}

PROBED void hits(long x)
{
	__asm__ volatile(MARK("marks", "hit", "0", "-8@%0") : : "r"(x));
	hit_in_memory(x);
	__asm__ volatile(MARK("marks", "hit", "0", "-4@$7"));
	__asm__ volatile(MARK("other", "hit", "0", ""));
}

PROBED void work_start(void)
{
	__asm__ volatile(MARK("marks", "work__start", "0", ""));
}

PROBED void work_done(void)
{
	__asm__ volatile(MARK("marks", "work__done", "0", ""));
}

PROBED void request_start(long id)
{
	__asm__ volatile(MARK("marks", "request__start", "0", "-8@%0") : : "r"(id));
}

PROBED void request_done(int other, long id)
{
	__asm__ volatile(MARK("marks", "request__done", "0", "-4@%0 -8@%1")
			 :
			 : "r"(other), "m"(id));
}

PROBED void again(void)
{
	__asm__ volatile(MARK("marks", "again__start", "0", ""));
	__asm__ volatile(MARK("marks", "again__start", "0", ""));
	__asm__ volatile(MARK("marks", "again__done", "0", ""));
}

PROBED void orphan(bool begins)
{
	if (begins)
		__asm__ volatile(MARK("marks", "orphan__start", "0", ""));
	__asm__ volatile(MARK("marks", "orphan__done", "0", ""));
}

PROBED void nap(void)
{
	const struct timespec time = {.tv_nsec = 10000000};
	uint64_t begin = now_ns();

	__asm__ volatile(MARK("marks", "nap__start", "0", ""));
	nanosleep(&time, NULL);
	__asm__ volatile(MARK("marks", "nap__done", "0", ""));
	nap_ns += (long)(now_ns() - begin);
}

PROBED long gated(void)
{
	long passed = 0;

	if (first_gate) {
		__asm__ volatile(MARK("marks", "gated", "first_gate", ""));
		passed++;
	}
	if (second_gate) {
		__asm__ volatile(MARK("marks", "gated", "second_gate", ""));
		passed++;
	}
	return passed;
}

static void *work(void *unused)
{
	for (long i = 0; i < n_calls; i++) {
		work_start();
		work_done();
	}
	return unused;
}

static void *finish_requests(void *unused)
{
	for (long i = n_calls; i-- > 0;)
		request_done(-1, i);
	return unused;
}

static void on_threads(void *(*what)(void *), long n)
{
	pthread_t threads[64];

	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, what, NULL);
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* The function of the library that passes its sites; NULL without one. */
static void (*library_of(const char *path))(long)
{
	void (*function)(long) = NULL;
#ifndef STATIC
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;

	if (library)
		*(void **)&function = dlsym(library, "library_marks");
#endif
	(void)path;
	return function;
}

int main(int argc, char **argv)
{
	void (*library)(long) = library_of(argc > 3 ? argv[3] : NULL);

	n_calls = argument(argc, argv, 1, 1000);
	n_threads = argument(argc, argv, 2, 4);
	for (bool more = ready(); more; more = next_round()) {
		long passed = 0;
		uint16_t first = first_gate, second = second_gate;

		nap_ns = 0;
		for (long i = 0; i < n_calls; i++) {
			hits(i);
			again();
			orphan(false);
			passed += gated();
		}
		orphan(true);
		if (library)
			library(n_calls);
		on_threads(work, n_threads);
		for (long i = 0; i < n_calls; i++)
			request_start(i);
		on_threads(finish_requests, 1);
		for (int i = 0; i < 20; i++)
			nap();
		say("{\"hit\":%ld,\"other\":%ld,\"work\":%ld,\"request\":%ld,\"again\":%ld,"
		    "\"orphan\":%ld,\"library\":%ld,\"nap\":20,\"nap_ns\":%ld,\"gated\":%ld,"
		    "\"gates\":[%d,%d]}\n",
		    3 * n_calls, n_calls, n_calls * n_threads, n_calls, n_calls, n_calls,
		    library ? n_calls : 0, nap_ns, passed, first, second);
	}
	return 0;
}
