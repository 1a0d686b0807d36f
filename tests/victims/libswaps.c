/*
 * Preloaded into the exporter: when the file SWAP_GO is there, it takes that away, and the next
 * time that the file SWAP_FILE is opened to be probed, that and SWAP_OTHER change places for the
 * moment, as they may between looking at a path and opening it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void swap(void)
{
	renameat2(AT_FDCWD, getenv("SWAP_FILE"), AT_FDCWD, getenv("SWAP_OTHER"), RENAME_EXCHANGE);
}

int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...);
	const char *file = getenv("SWAP_FILE"), *go = getenv("SWAP_GO");
	va_list more;

	va_start(more, flags);
	mode_t mode = va_arg(more, mode_t);
	va_end(more);
	*(void **)&next = dlsym(RTLD_NEXT, "open");
	if (!file || !go || !(flags & O_PATH) || strcmp(path, file) || unlink(go))
		return next(path, flags, mode);
	swap();
	int fd = next(path, flags, mode);
	swap();
	return fd;
}
