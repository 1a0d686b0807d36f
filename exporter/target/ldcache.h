/*
 * /etc/ld.so.cache: where the loader finds libraries that no run path leads to.
 *
 * Format: glibc elf/cache.c, sysdeps/generic/dl-cache.h ("glibc-ld.so.cache1.1").
 */
#ifndef TARGET_LDCACHE_H
#define TARGET_LDCACHE_H

#include <stddef.h>

#define LDCACHE_MOST_BYTES (16u << 20)

struct ldcache {
	char *bytes; /* owned; NULL when there is no usable cache */
	size_t size;
};

void ldcache_open(struct ldcache *cache, const char *path);
void ldcache_close(struct ldcache *cache);

/*
 * The `index`-th path that the cache has for this soname (several machines may be in it), or
 * NULL. Borrowed.
 */
const char *ldcache_find(const struct ldcache *cache, const char *soname, size_t index);

#endif
