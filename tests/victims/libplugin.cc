/* The plugin of host.c: its callback throws through the program's function. */

typedef long callback(long);
typedef long relay(callback *, long);

static long throws(long i)
{
	if (i % 2)
		throw i;
	return i * 3;
}

extern "C" long plugin_run(relay *through, long calls, long *returned)
{
	long sum = 0;

	for (long i = 0; i < calls; i++) {
		try {
			sum = (sum * 31 + through(throws, i)) % 1000003;
			++*returned;
		} catch (long value) {
			sum = (sum * 31 + value) % 1000003;
		}
	}
	return sum;
}
