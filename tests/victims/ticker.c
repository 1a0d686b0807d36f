/*
 * Calls slowly, and not on command: ticker INTERVAL_US [COUNT]. Calls `tick` every INTERVAL_US
 * microseconds, COUNT times (0: until killed), then prints how often. COUNT 1 is the short-lived
 * process, COUNT 0 the patient one.
 */
#include "victim.h"

static volatile long sink;

PROBED void tick(void)
{
	sink++;
}

int main(int argc, char **argv)
{
	long interval_us = argument(argc, argv, 1, 1000), count = argument(argc, argv, 2, 0);

	say("ready %d\n", (int)getpid());
	for (long i = 0; !count || i < count; i++) {
		tick();
		if (interval_us)
			usleep((useconds_t)interval_us);
	}
	say("{\"calls\":{\"tick\":%ld}}\n", count);
	return 0;
}
