/*
 * Ways to leave a call that a plain C program has: plain FUNCTION [CALLS]. Each round makes CALLS
 * outermost calls of FUNCTION and tells how often it was called, how often it returned, and a
 * result that the calls computed.
 *     leave      every second call is left by longjmp
 *     never      ends in longjmp always: it has no return instruction
 *     recurse    1,000 deep
 *     hand_over  ends in a jump to `take_over`
 *     bounce     calls `bounce_back` by a jump, and is called by it so, 20 calls in all
 *     choose     has a jump table, many returns and tail calls
 *     rare       its rarely used part was split off by the compiler, returns included
 *     align      aligns its own stack
 */
#include "victim.h"

#include <setjmp.h>
#include <string.h>

static jmp_buf out;
static volatile long sink;
static long returned;

PROBED long leave(long i)
{
	sink = i;
	if (i % 2)
		longjmp(out, 1);
	sink = i;
	return i * 3;
}

__attribute__((noreturn)) PROBED void never(long i)
{
	sink = i;
	longjmp(out, (int)(i % 2) + 1);
}

PROBED long recurse(long depth)
{
	long below = depth > 1 ? recurse(depth - 1) : 0;

	sink = below; /* work after the call, or it becomes a loop */
	return below + 1;
}

PROBED long take_over(long x)
{
	sink = x;
	return x + 1;
}

PROBED long hand_over(long x)
{
	sink = x;
	return take_over(x * 3);
}

PROBED long bounce_back(long n, long x);

PROBED long bounce(long n, long x)
{
	return n ? bounce_back(n - 1, x + n) : x;
}

PROBED long bounce_back(long n, long x)
{
	return n ? bounce(n - 1, x * 3 % 1009) : x;
}

PROBED long choose(long i)
{
	switch (i % 12) {
	case 0:
		sink += 1;
		return 5;
	case 1:
		sink -= 1;
		return sink;
	case 2:
		sink *= 3;
		break;
	case 3:
		return take_over(i);
	case 4:
		sink ^= 77;
		return i;
	case 5:
		sink = i / 3;
		return -i;
	case 6:
		for (long j = 0; j < i % 5; j++)
			sink += j;
		return i & 31;
	case 7:
		sink |= 1;
		break;
	case 8:
		return sink = 2;
	case 9:
		if (i % 7 == 0)
			return 9;
		sink = 4;
		break;
	case 10:
		return hand_over(i);
	default:
		sink = sink + i;
	}
	return i + 1;
}

__attribute__((cold)) PROBED long complain(long i)
{
	sink = i;
	return i / 2;
}

PROBED long rare(long i)
{
	if (i % 7 == 3) {
		sink = i;
		return complain(i) + complain(i + 1);
	}
	if (i % 11 == 5)
		return complain(i * 2);
	sink = i;
	return i;
}

PROBED long align(long i)
{
	_Alignas(128) volatile long place[16];
	volatile char *room = __builtin_alloca((size_t)(i % 100) + 1);

	place[i % 16] = i;
	*room = (char)i;
	if (i % 3 == 0)
		return take_over(place[i % 16]);
	return place[i % 16] + *room;
}

static long round_of_jumps(long calls)
{
	volatile long sum = 0;

	for (volatile long i = 0; i < calls; i++) {
		if (setjmp(out) == 0) {
			sum += leave(i);
			returned++;
		} else {
			sum += 1;
		}
	}
	return sum;
}

static long round_of_never(long calls)
{
	volatile long sum = 0;

	for (volatile long i = 0; i < calls; i++) {
		int way = setjmp(out);
		if (way == 0)
			never(i);
		sum += way;
	}
	return sum;
}

static long deep(long i)
{
	return recurse(1000) + i;
}

static long bounces(long i)
{
	return bounce(19, i % 1000);
}

static long sum_of(long (*call)(long), long calls)
{
	long sum = 0;

	for (long i = 0; i < calls; i++)
		sum = (sum * 31 + call(i)) % 1000003;
	return sum;
}

static void tell(const char *name, long calls, long back, long result)
{
	say("{\"calls\":{\"%s\":%ld},\"returned\":{\"%s\":%ld},\"result\":%ld}\n", name, calls,
	    name, back, result);
}

/* Modes whose every call returns: what to call, and how many probed calls one makes. */
static const struct simple {
	const char *mode;
	long (*call)(long);
	long times;
	const char *also;
	long also_times;
} simple[] = {
	{"recurse", deep, 1000, NULL, 0},
	{"hand_over", hand_over, 1, "take_over", 1},
	{"bounce", bounces, 10, "bounce_back", 10},
	{"choose", choose, 1, NULL, 0},
	{"rare", rare, 1, NULL, 0},
	{"align", align, 1, NULL, 0},
};

static bool round_of_simple(const char *mode, long calls)
{
	for (size_t i = 0; i < sizeof(simple) / sizeof(*simple); i++) {
		const struct simple *s = &simple[i];
		if (strcmp(mode, s->mode) != 0)
			continue;
		long n = calls * s->times, m = calls * s->also_times, sum = sum_of(s->call, calls);
		if (!s->also)
			tell(mode, n, n, sum);
		else
			say("{\"calls\":{\"%s\":%ld,\"%s\":%ld},\"returned\":{\"%s\":%ld,"
			    "\"%s\":%ld},\"result\":%ld}\n",
			    mode, n, s->also, m, mode, n, s->also, m, sum);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long calls = argument(argc, argv, 2, 10000);

	for (bool more = ready(); more; more = next_round()) {
		returned = 0;
		if (strcmp(mode, "leave") == 0) {
			long sum = round_of_jumps(calls);
			tell(mode, calls, returned, sum);
		} else if (strcmp(mode, "never") == 0) {
			tell(mode, calls, 0, round_of_never(calls));
		} else if (!round_of_simple(mode, calls)) {
			return 2;
		}
	}
	return 0;
}
