/*
 * A plain C program that opens a plugin: host MODE PLUGIN [CALLS]. The plugin (libplugin.cc, C++)
 * calls the program's `relay` with a function of its own, which throws every second time; so
 * exceptions pass through frames of a program that itself knows nothing of them.
 *     early   the plugin is opened before `ready`
 *     late    at the first round
 */
#include "victim.h"

#include <dlfcn.h>
#include <string.h>

static volatile long sink;

PROBED long relay(long (*callback)(long), long i)
{
	sink = i;
	long result = callback(i);
	sink = result;
	return result + 1;
}

static long (*run)(long (*relay)(long (*)(long), long), long calls, long *returned);

static bool open_plugin(const char *file)
{
	void *plugin = dlopen(file, RTLD_NOW);

	run = plugin ? (__typeof__(run))dlsym(plugin, "plugin_run") : NULL;
	return run != NULL;
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 3, 10000);

	if (argc < 3 || (strcmp(argv[1], "early") == 0 && !open_plugin(argv[2])))
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		long returned = 0, sum;

		if (!run && !open_plugin(argv[2]))
			return 2;
		sum = run(relay, calls, &returned);
		say("{\"calls\":{\"relay\":%ld},\"returned\":{\"relay\":%ld},\"result\":%ld}\n",
		    calls, returned, sum);
	}
	return 0;
}
