/*
 * Many functions of known duration: naps [CALLS]. Each round calls nap_00 to nap_79 CALLS times
 * each, one after another; how long nap_I sleeps depends on I and on
 * the call, every second one long. For each of them the
 * victim tells the calls and, of every call, how long it took by its own clock, read within the
 * function and around it: what a probe measures lies between the two.
 */
#include "victim.h"

enum { NAPS = 80, CALLS_MOST = 8 };

/* Below and above the cells that one slot holds in turn, with the buckets of
 * tests/bpf/test_layouts.py. */
static const long nap_ns[] = {300000, 3300000, 700000, 7300000};

static uint64_t inside_ns[NAPS][CALLS_MOST], around_ns[NAPS][CALLS_MOST];

static void nap(int i, int call)
{
	uint64_t begin = now_ns();
	struct timespec t = {.tv_nsec = nap_ns[(i + call) % 4]};

	nanosleep(&t, NULL);
	inside_ns[i][call] = now_ns() - begin;
}

#define NAP(tens, ones)                                                                            \
	PROBED void nap_##tens##ones(int call)                                                     \
	{                                                                                          \
		nap(10 * tens + ones, call);                                                       \
	}
#define TEN(do, tens)                                                                              \
	do                                                                                         \
	(tens, 0) do(tens, 1) do(tens, 2) do(tens, 3) do(tens, 4) do(tens, 5) do(tens, 6) do(      \
		tens, 7) do(tens, 8) do(tens, 9)
#define ALL(do)                                                                                    \
	TEN(do, 0) TEN(do, 1) TEN(do, 2) TEN(do, 3) TEN(do, 4) TEN(do, 5) TEN(do, 6) TEN(do, 7)
#define NAME(tens, ones) nap_##tens##ones,

ALL(NAP)
static void (*const naps[])(int call) = {ALL(NAME)};
_Static_assert(sizeof(naps) / sizeof(naps[0]) == NAPS, "every one is in the list");

static void tell(int i, long calls)
{
	say("{\"calls\":{\"nap_%02d\":%ld},\"inside_ns\":[", i, calls);
	for (long call = 0; call < calls; call++)
		say("%s%lu", call ? "," : "", (unsigned long)inside_ns[i][call]);
	say("],\"around_ns\":[");
	for (long call = 0; call < calls; call++)
		say("%s%lu", call ? "," : "", (unsigned long)around_ns[i][call]);
	say("]}\n");
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 1, 2);

	if (calls > CALLS_MOST)
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		for (int i = 0; i < NAPS; i++) {
			for (int call = 0; call < calls; call++) {
				uint64_t begin = now_ns();
				naps[i](call);
				around_ns[i][call] = now_ns() - begin;
			}
		}
		for (int i = 0; i < NAPS; i++)
			tell(i, calls);
	}
	return 0;
}
