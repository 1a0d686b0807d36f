/*
 * What every victim shares: programs whose calls are known exactly, so that a test can compare.
 *
 * A victim prints `ready PID`, then waits for lines on its standard input. Each line is one round
 * of calls, after which it prints one line of JSON: how often each probed function was called and
 * how long the calls took by the victim's own clock. End of input ends it with status 0. So a
 * test attaches before the first call, and looks at the metrics while the process still lives.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A function that the compiler keeps as written: not inlined, cloned, or assumed to do nothing. */
#if defined(__clang__)
#define PROBED __attribute__((noinline, optnone, used))
#else
#define PROBED __attribute__((noipa, used))
#endif

/*
 * The variant NAME.risky is the same program with something in it that unwinds stacks, so that
 * `exit: auto` cannot hold return probes for harmless.
 */
#ifdef RISKY
#include <pthread.h>
__attribute__((used)) static int (*volatile risk)(pthread_t) = pthread_cancel;
#endif

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The n-th command line argument as a number, or `otherwise`. */
static inline long argument(int argc, char **argv, int n, long otherwise)
{
	return n < argc ? strtol(argv[n], NULL, 10) : otherwise;
}

/* One line of output by one write(2): no buffer, and so no malloc. */
static inline void say(const char *fmt, ...)
{
	char line[512];
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(3);
}

/* Wait for the next line of input; false at its end. */
static inline bool next_round(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c == '\n')
			return true;
	}
	return false;
}

static inline bool ready(void)
{
	say("ready %d\n", (int)getpid());
	return next_round();
}

#endif
