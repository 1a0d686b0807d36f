/*
 * Threads cancelled inside probed calls: cancels MODE [CALLS]. Every call of `leave` has a cleanup
 * handler and is made by a thread of its own; every second one of those threads is cancelled
 *     self     by itself, at a cancellation point inside the call
 *     other    by another thread, while it waits inside the call
 *     async    at any instruction, while it spins inside the call
 */
#include "victim.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { MOST_AT_ONCE = 8 };

static volatile long sink;
static long cleaned;

static void clean(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

PROBED void cancel_self(sem_t *inside)
{
	(void)inside;
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

PROBED void wait_for_it(sem_t *inside)
{
	sem_post(inside);
	for (;;)
		pause();
}

PROBED void spin(sem_t *inside)
{
	int before;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	sem_post(inside);
	for (;;)
		sink++;
}

static const struct mode {
	const char *name;
	void (*how)(sem_t *);
	bool by_other;
	long at_once;
} modes[] = {
	{"self", cancel_self, false, MOST_AT_ONCE},
	{"other", wait_for_it, true, MOST_AT_ONCE},
	{"async", spin, true, 1}, /* more of them would keep each other waiting */
};

struct call {
	const struct mode *mode;
	long i;
	pthread_t thread;
	sem_t inside;
};

PROBED long leave(struct call *call)
{
	pthread_cleanup_push(clean, NULL);
	if (call->i % 2)
		call->mode->how(&call->inside);
	sink = call->i;
	pthread_cleanup_pop(0);
	return call->i;
}

static void *call_once(void *argument)
{
	struct call *call = argument;

	return (void *)(leave(call) + 1);
}

/* `n` threads: how many of them returned. */
static long batch(const struct mode *mode, struct call *call, long first, long n)
{
	long returned = 0;

	for (long k = 0; k < n; k++) {
		call[k].mode = mode;
		call[k].i = first + k;
		sem_init(&call[k].inside, 0, 0);
		pthread_create(&call[k].thread, NULL, call_once, &call[k]);
	}
	for (long k = 0; k < n; k++) {
		void *result;

		if (mode->by_other && call[k].i % 2) {
			sem_wait(&call[k].inside);
			pthread_cancel(call[k].thread);
		}
		pthread_join(call[k].thread, &result);
		returned += result == (void *)(call[k].i + 1);
		sem_destroy(&call[k].inside);
	}
	return returned;
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 2, 10000);
	const struct mode *mode = NULL;
	struct call call[MOST_AT_ONCE];

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		long returned = 0, step = mode->at_once;

		cleaned = 0;
		for (long i = 0; i < calls; i += step)
			returned += batch(mode, call, i, calls - i < step ? calls - i : step);
		say("{\"calls\":{\"leave\":%ld},\"returned\":{\"leave\":%ld},\"result\":%ld}\n",
		    calls, returned, cleaned);
	}
	return 0;
}
