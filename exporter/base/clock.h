/*
 * Clocks in the units that they are used in. For how long something takes or lasts there is the one
 * that is never set and does not run while the machine sleeps (CLOCK_MONOTONIC, clock_gettime(2)).
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline time_t clock_now_s(void)
{
	return (time_t)(clock_now_ns() / 1000000000);
}

/* What the calling thread has taken of a CPU. */
static inline uint64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
