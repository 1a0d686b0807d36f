/*
 * Functions of known duration: sleeps [CALLS] calls sleep_1ms, sleep_10ms and sleep_100ms that
 * often each and tells how long each took, in all and at most, measured around the calls.
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

static const struct timed {
	const char *name;
	void (*function)(void);
} functions[] = {
	{"sleep_1ms", sleep_1ms},
	{"sleep_10ms", sleep_10ms},
	{"sleep_100ms", sleep_100ms},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void make_calls(void (*function)(void), long calls, uint64_t *sum_ns, uint64_t *max_ns)
{
	*sum_ns = *max_ns = 0;
	for (long i = 0; i < calls; i++) {
		uint64_t begin = now_ns(), took;

		function();
		took = now_ns() - begin;
		*sum_ns += took;
		*max_ns = took > *max_ns ? took : *max_ns;
	}
}

static void tell(const char *what, const uint64_t *values)
{
	say("\"%s\":{", what);
	for (size_t i = 0; i < FUNCTIONS; i++)
		say("%s\"%s\":%lu", i ? "," : "", functions[i].name, (unsigned long)values[i]);
	say("}");
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 1, 10);
	uint64_t counts[FUNCTIONS], sum_ns[FUNCTIONS], max_ns[FUNCTIONS];

	for (bool more = ready(); more; more = next_round()) {
		for (size_t i = 0; i < FUNCTIONS; i++) {
			counts[i] = (uint64_t)calls;
			make_calls(functions[i].function, calls, &sum_ns[i], &max_ns[i]);
		}
		say("{");
		tell("calls", counts);
		say(",");
		tell("ns", sum_ns);
		say(",");
		tell("max_ns", max_ns);
		say("}\n");
	}
	return 0;
}
