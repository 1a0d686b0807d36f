/*
 * What else is in a process with a program: the libraries that it needs, and what the processes
 * that run it now have mapped. A plain C program's frames are in danger when something there
 * switches stacks, or catches exceptions, which may have passed through them from a thrower below.
 */
#ifndef TARGET_COMPANY_H
#define TARGET_COMPANY_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "target/dynamic.h"
#include "target/image.h"

/* Processes, and objects that they map, that are looked at for one program. */
#define COMPANY_MOST_PROCESSES 64
#define COMPANY_MOST_OBJECTS   512

/*
 * Whether anything there endangers the frames of the program `image`: true, and `why` gets what.
 * The C library, the loader and the runtimes of C++ themselves do not count. What was found out of
 * a file is remembered until it changes; to be called by one thread at a time.
 */
bool company_endangers(const struct image *image, const struct dynamic *dynamic,
		       struct strbuf *why);

#endif
