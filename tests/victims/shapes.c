/*
 * Ways in which calls nest: recursion, mutual recursion, one probed function inside another, a
 * tail call and a function with several returns. shapes [DEPTH] [CALLS]: each round makes CALLS
 * outermost calls of each shape, recursing DEPTH deep.
 */
#include "victim.h"

static volatile long sink;
static long pause_us;

static void dawdle(void)
{
	if (pause_us)
		usleep((useconds_t)pause_us);
	sink++;
}

PROBED long recurse(long depth)
{
	long below = 0;

	dawdle();
	if (depth > 1)
		below = recurse(depth - 1);
	sink += below;
	return below + 1;
}

PROBED long pong(long depth);

PROBED long ping(long depth)
{
	long below = depth > 1 ? pong(depth - 1) : 0;

	dawdle();
	return below + 1;
}

PROBED long pong(long depth)
{
	long below = depth > 1 ? ping(depth - 1) : 0;

	dawdle();
	return below + 1;
}

PROBED long inner(long x)
{
	dawdle();
	return x + 1;
}

PROBED long outer(long x)
{
	long sum = inner(x);

	sum += inner(sum);
	dawdle();
	return sum;
}

PROBED long tail_end(long x)
{
	dawdle();
	return x + sink;
}

/* gcc -O2 ends this with `jmp tail_end`: the call has no return of its own. */
PROBED long tail_begin(long x)
{
	dawdle();
	return tail_end(x * 3);
}

PROBED long many_returns(long x)
{
	if (x % 3 == 0)
		return 7;
	dawdle();
	if (x % 3 == 1)
		return sink;
	dawdle();
	return x;
}

int main(int argc, char **argv)
{
	long depth = argument(argc, argv, 1, 50), calls = argument(argc, argv, 2, 1);

	pause_us = argument(argc, argv, 3, 0);
	for (bool more = ready(); more; more = next_round()) {
		uint64_t begin = now_ns();

		for (long i = 0; i < calls; i++) {
			sink += recurse(depth);
			sink += ping(depth);
			sink += outer(i);
			sink += tail_begin(i);
			sink += many_returns(i);
		}
		say("{\"calls\":{\"recurse\":%ld,\"ping\":%ld,\"pong\":%ld,\"outer\":%ld,"
		    "\"inner\":%ld,\"tail_begin\":%ld,\"tail_end\":%ld,\"many_returns\":%ld},"
		    "\"wall_ns\":%lu}\n",
		    depth * calls, (depth + 1) / 2 * calls, depth / 2 * calls, calls, 2 * calls,
		    calls, calls, calls, (unsigned long)(now_ns() - begin));
	}
	return 0;
}
