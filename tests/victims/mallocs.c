/*
 * A known number of malloc calls: mallocs [THREADS] [CALLS]. The threads are started before
 * `ready`, and nothing else in the process calls malloc during a round. With more arguments, the
 * first round is to start the program anew without the last, by a second thread.
 */
#include "victim.h"

#include <pthread.h>

static long n_threads, n_calls;
static pthread_barrier_t start, done;

static void *thread(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&start);
		for (long i = 0; i < n_calls; i++) {
			char *volatile p = malloc(1 + (size_t)i % 100);

			free(p);
		}
		pthread_barrier_wait(&done);
	}
	return unused;
}

static void *start_anew(void *argv)
{
	char **arguments = argv;

	execv(arguments[0], arguments);
	_exit(1);
}

static void exec_by_a_thread(char **argv)
{
	pthread_t id;

	if (ready() && !pthread_create(&id, NULL, start_anew, argv))
		pthread_join(id, NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 3) {
		argv[argc - 1] = NULL;
		exec_by_a_thread(argv);
	}
	n_threads = argument(argc, argv, 1, 3);
	n_calls = argument(argc, argv, 2, 10000);
	pthread_barrier_init(&start, NULL, (unsigned)n_threads + 1);
	pthread_barrier_init(&done, NULL, (unsigned)n_threads + 1);
	for (long i = 0; i < n_threads; i++) {
		pthread_t id;

		pthread_create(&id, NULL, thread, NULL);
	}
	for (bool more = ready(); more; more = next_round()) {
		pthread_barrier_wait(&start);
		pthread_barrier_wait(&done);
		say("{\"calls\":{\"malloc\":%ld}}\n", n_threads * n_calls);
	}
	_exit(0); /* the threads wait for ever */
}
