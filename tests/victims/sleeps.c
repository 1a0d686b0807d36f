/*
 * Functions of known duration: sleeps [CALLS] calls sleep_1ms, sleep_10ms and sleep_100ms that
 * often each and tells how long each took in all, measured around the calls.
 */
#include "victim.h"

static void sleep_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

PROBED void sleep_1ms(void)
{
	sleep_ns(1000000);
}

PROBED void sleep_10ms(void)
{
	sleep_ns(10000000);
}

PROBED void sleep_100ms(void)
{
	sleep_ns(100000000);
}

/* Never called: its series must be there all the same. */
PROBED void sleep_never(void)
{
	sleep_ns(1);
}

static unsigned long timed(void (*function)(void), long calls)
{
	uint64_t sum = 0;

	for (long i = 0; i < calls; i++) {
		uint64_t begin = now_ns();

		function();
		sum += now_ns() - begin;
	}
	return (unsigned long)sum;
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 1, 10);

	for (bool more = ready(); more; more = next_round()) {
		unsigned long one = timed(sleep_1ms, calls);
		unsigned long ten = timed(sleep_10ms, calls);
		unsigned long hundred = timed(sleep_100ms, calls);

		say("{\"calls\":{\"sleep_1ms\":%ld,\"sleep_10ms\":%ld,\"sleep_100ms\":%ld},"
		    "\"ns\":{\"sleep_1ms\":%lu,\"sleep_10ms\":%lu,\"sleep_100ms\":%lu}}\n",
		    calls, calls, calls, one, ten, hundred);
	}
	return 0;
}
