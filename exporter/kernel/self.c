/* Finding our own code in our own file. */
#include "kernel/self.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What /proc/self/maps says of an address. `path` holds PATH_MAX bytes. */
static int find_mapping(uintptr_t address, uint64_t *offset, char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	int result = -ENOENT;

	if (!maps)
		return -errno;
	while (result && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, from;
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end,
			   &from, &at) != 3)
			continue;
		if (address < start || address >= end)
			continue;
		*offset = address - start + from;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, PATH_MAX, "%s", line + at);
		result = 0;
	}
	fclose(maps);
	return result;
}

int self_offset(uintptr_t address, uint64_t *offset)
{
	char path[PATH_MAX];

	return find_mapping(address, offset, path);
}

/* valgrind preloads its own library (vgpreload_core-….so) into what it runs. */
bool self_is_translated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "/vgpreload_");
}

const char *self_path(void)
{
	static char path[PATH_MAX];
	uint64_t offset;

	if (!self_is_translated() || find_mapping((uintptr_t)self_path, &offset, path))
		return "/proc/self/exe";
	return path;
}
