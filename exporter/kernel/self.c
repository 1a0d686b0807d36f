/* Finding our own code in our own file. */
#include "kernel/self.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int self_offset(uintptr_t address, uint64_t *offset)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int result = -ENOENT;

	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, from;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &from) != 3)
			continue;
		if (address >= start && address < end) {
			*offset = address - start + from;
			result = 0;
			break;
		}
	}
	fclose(maps);
	return result;
}
