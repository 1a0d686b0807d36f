/*
 * The measured programs. Each has functions in several copies, COPY_NAMES, so that every tool has
 * a copy of its own and all can stay attached while rounds alternate.
 *
 * They read lines "KIND COPY CALLS THREADS" and answer each with the nanoseconds of processor time
 * that a call took, loop included, as the mean of the threads: the threads' own time, so that a
 * busy machine takes away turns but adds nothing.
 */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An X for each copy: X(kind, number, first, last). */
#define EACH_COPY(X, kind, first, last)                                                            \
	X(kind, 0, first, last);                                                                   \
	X(kind, 1, first, last);                                                                   \
	X(kind, 2, first, last);                                                                   \
	X(kind, 3, first, last);                                                                   \
	X(kind, 4, first, last);                                                                   \
	X(kind, 5, first, last);                                                                   \
	X(kind, 6, first, last);                                                                   \
	X(kind, 7, first, last);                                                                   \
	X(kind, 8, first, last);                                                                   \
	X(kind, 9, first, last);                                                                   \
	X(kind, 10, first, last);                                                                  \
	X(kind, 11, first, last);                                                                  \
	X(kind, 12, first, last);                                                                  \
	X(kind, 13, first, last)

#define COPY_NAMES(kind)                                                                           \
	{                                                                                          \
		kind##_0, kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6, kind##_7,    \
			kind##_8, kind##_9, kind##_10, kind##_11, kind##_12, kind##_13             \
	}

enum { COPIES = 14, THREADS_MOST = 16 };

typedef int (*copy_function)(int);

struct row {
	const char *kind;
	copy_function copies[COPIES];
};

struct work {
	copy_function function;
	long calls;
	pthread_barrier_t *start;
	double ns; /* a call */
};

static void *work_run(void *arg)
{
	struct work *work = (struct work *)arg;
	copy_function function = work->function;
	struct timespec begin, end;

	pthread_barrier_wait(work->start);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (long i = 0; i < work->calls; i++)
		function((int)i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	work->ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		    (double)(end.tv_nsec - begin.tv_nsec)) /
		   (double)work->calls;
	return NULL;
}

static double work_measure(copy_function function, long calls, int n_threads)
{
	struct work work[THREADS_MOST];
	pthread_t threads[THREADS_MOST];
	pthread_barrier_t start;
	double sum = 0;

	pthread_barrier_init(&start, NULL, (unsigned)n_threads);
	for (int i = 0; i < n_threads; i++) {
		work[i].function = function;
		work[i].calls = calls;
		work[i].start = &start;
		if (i)
			pthread_create(&threads[i], NULL, work_run, &work[i]);
	}
	work_run(&work[0]);
	for (int i = 0; i < n_threads; i++) {
		if (i)
			pthread_join(threads[i], NULL);
		sum += work[i].ns;
	}
	pthread_barrier_destroy(&start);
	return sum / n_threads;
}

static copy_function find_copy(const struct row *rows, size_t n_rows, const char *kind, int copy)
{
	for (size_t i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].kind, kind) && copy >= 0 && copy < COPIES)
			return rows[i].copies[copy];
	fprintf(stderr, "no %s_%d\n", kind, copy);
	exit(2);
}

static int answer_lines(const struct row *rows, size_t n_rows)
{
	char line[128], kind[32];
	int copy, threads;
	long calls;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s %d %ld %d", kind, &copy, &calls, &threads) != 4 ||
		    calls <= 0 || threads <= 0 || threads > THREADS_MOST)
			return 2;
		copy_function function = find_copy(rows, n_rows, kind, copy);
		printf("%.2f\n", work_measure(function, calls, threads));
		fflush(stdout);
	}
	return 0;
}

#endif
