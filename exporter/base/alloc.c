/* Allocation that ends the program rather than return NULL. */
#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void alloc_failed(void)
{
	static const char text[] = "uprobe_exporter: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		errno = 0; /* nobody left to tell */
	_exit(1);
}

void *alloc_zero(size_t count, size_t size)
{
	void *bytes = calloc(count ? count : 1, size ? size : 1);

	if (!bytes)
		alloc_failed();
	return bytes;
}

void *alloc_resize(void *old, size_t count, size_t size)
{
	void *bytes = reallocarray(old, count ? count : 1, size ? size : 1);

	if (!bytes)
		alloc_failed();
	return bytes;
}

char *alloc_strdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		alloc_failed();
	return copy;
}

void alloc_free_pointer(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void alloc_close_fd(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
