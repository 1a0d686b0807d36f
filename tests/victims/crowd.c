/*
 * Threads that end inside a probed call, many of them: crowd [THREADS] [AT_ONCE]. Every thread
 * calls `finish` once, which ends it with pthread_exit; every fourth call returns instead.
 * `ends_thread` is called by it, and never returns; the compiler knows, so there is no exit in it.
 */
#include "victim.h"

#include <pthread.h>

enum { MOST_AT_ONCE = 256 };

static volatile long sink;

__attribute__((noreturn)) PROBED void ends_thread(void *result)
{
	sink++;
	pthread_exit(result);
}

PROBED void *finish(long i)
{
	if (i % 4)
		ends_thread((void *)i);
	return (void *)(i + 1);
}

static void *thread(void *i)
{
	return (void *)((long)finish((long)i) + 1);
}

int main(int argc, char **argv)
{
	long threads = argument(argc, argv, 1, 100000), at_once = argument(argc, argv, 2, 32);
	pthread_t ids[MOST_AT_ONCE];
	pthread_attr_t small;

	if (at_once > MOST_AT_ONCE)
		return 2;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (bool more = ready(); more; more = next_round()) {
		long returned = 0, sum = 0;

		for (long i = 0; i < threads; i += at_once) {
			long n = threads - i < at_once ? threads - i : at_once;
			for (long k = 0; k < n; k++)
				pthread_create(&ids[k], &small, thread, (void *)(i + k));
			for (long k = 0; k < n; k++) {
				void *result;
				pthread_join(ids[k], &result);
				returned += result == (void *)(i + k + 2);
				sum = (sum + (long)result) % 1000003;
			}
		}
		say("{\"calls\":{\"finish\":%ld,\"ends_thread\":%ld},"
		    "\"returned\":{\"finish\":%ld,\"ends_thread\":0},\"result\":%ld}\n",
		    threads, threads - (threads + 3) / 4, returned, sum);
	}
	return 0;
}
