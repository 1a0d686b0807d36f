/* The loader's cache: a header, a table of entries, and the strings they point to. */
#include "target/ldcache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAGIC "glibc-ld.so.cache1.1"

struct header {
	char magic[20];
	uint32_t n_entries, strings_bytes;
	uint32_t spare[5];
};

struct entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the start of the header */
	uint32_t os_version;
	uint64_t hwcap;
};

void ldcache_open(struct ldcache *cache, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	memset(cache, 0, sizeof(*cache));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < (off_t)sizeof(struct header) || st.st_size > LDCACHE_MOST_BYTES)
		return;
	size_t size = (size_t)st.st_size;
	char *bytes = alloc_zero(size + 1, 1);
	ssize_t n = pread(fd, bytes, size, 0);
	if (n != (ssize_t)size || memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) != 0) {
		free(bytes);
		return;
	}
	cache->bytes = bytes;
	cache->size = size;
}

void ldcache_close(struct ldcache *cache)
{
	free(cache->bytes);
	memset(cache, 0, sizeof(*cache));
}

const char *ldcache_find(const struct ldcache *cache, const char *soname, size_t index)
{
	struct header header;

	if (!cache->bytes)
		return NULL;
	memcpy(&header, cache->bytes, sizeof(header));
	size_t n = (cache->size - sizeof(header)) / sizeof(struct entry);
	n = header.n_entries < n ? header.n_entries : n;
	for (size_t i = 0; i < n; i++) {
		struct entry entry;
		memcpy(&entry, cache->bytes + sizeof(header) + i * sizeof(entry), sizeof(entry));
		if (entry.name >= cache->size || entry.path >= cache->size ||
		    strcmp(cache->bytes + entry.name, soname) != 0)
			continue;
		if (index-- == 0)
			return cache->bytes + entry.path;
	}
	return NULL;
}
