/* Loads the library given and prints where its versioned functions are. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "offsets.h"

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library)
		return 1;
	print_offset("foo@V1", dlvsym(library, "foo", "V1"));
	print_offset("foo@@V2", dlvsym(library, "foo", "V2"));
	print_offset("foo", dlsym(library, "foo"));
	print_offset("old", dlvsym(library, "old", "V1"));
	print_offset("two@V1", dlvsym(library, "two", "V1"));
	print_offset("two@V2", dlvsym(library, "two", "V2"));
	print_offset("plain_versioned", dlsym(library, "plain_versioned"));
	return 0;
}
