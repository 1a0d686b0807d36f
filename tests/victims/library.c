/*
 * Calls every function of a generated library (genlib.sh): library FILE.so COUNT [TIMES]. The
 * file is opened with dlopen before `ready`. Function fn_00000 is called TIMES times a round, the
 * others as often too; fn_I adds one to counter I modulo 16 of the library, and the sum is told.
 */
#include "victim.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	long count = argument(argc, argv, 2, 1000), times = argument(argc, argv, 3, 3);
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (**functions)(void);
	volatile unsigned long *hits;

	if (!library)
		return 2;
	functions = calloc((size_t)count, sizeof(*functions));
	for (long i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "fn_%05ld", i);
		functions[i] = (void (*)(void))dlsym(library, name);
		if (!functions[i])
			return 2;
	}
	hits = dlsym(library, "fn_hits");
	for (bool more = ready(); more; more = next_round()) {
		for (long t = 0; t < times; t++) {
			for (long i = 0; i < count; i++)
				functions[i]();
		}
		say("{\"calls\":{\"each\":%ld},\"functions\":%ld,\"hits\":%lu}\n", times, count,
		    *hits);
	}
	return 0;
}
