/*
 * Allocation that does not return NULL. Every size in this program is bounded by the config's
 * limits or by a cap on its input, so running out of memory is not a case to handle but an end:
 * one line on stderr and status 1.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

_Noreturn void alloc_failed(void);

/* As calloc, but never NULL; release with free(). */
void *alloc_zero(size_t count, size_t size);
/* As reallocarray, but never NULL; the part beyond the old size is not zeroed. */
void *alloc_resize(void *old, size_t count, size_t size);
char *alloc_strdup(const char *text);

/* `_cleanup_free_ char *p` is freed when it leaves its scope. */
void alloc_free_pointer(void *pointer_to_pointer);
#define _cleanup_free_ __attribute__((cleanup(alloc_free_pointer)))

/* `_cleanup_close_ int fd = -1` is closed when it leaves its scope. */
void alloc_close_fd(const int *fd);
#define _cleanup_close_ __attribute__((cleanup(alloc_close_fd)))

#endif
