/*
 * Calls that stay open: blocked [DEPTH]. On a line of input `hold` is entered DEPTH times
 * recursively and waits; on the next line all of them return.
 */
#include "victim.h"

static volatile long returned; /* work after the call below, or gcc makes a loop of it */

PROBED long hold(long depth)
{
	long below = 0;

	if (depth > 1) {
		below = hold(depth - 1);
	} else {
		say("{\"holding\":true}\n");
		next_round();
	}
	returned++;
	return below + 1;
}

int main(int argc, char **argv)
{
	long depth = argument(argc, argv, 1, 1);

	for (bool more = ready(); more; more = next_round()) {
		long held = hold(depth);

		say("{\"calls\":{\"hold\":%ld}}\n", held);
	}
	return 0;
}
