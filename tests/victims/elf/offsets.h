/*
 * What every victim here prints: for each function its name and its file offset, worked out from
 * where the kernel mapped the code (/proc/self/maps), not from the file's tables. Tests compare
 * that with what the resolver says.
 */
#ifndef VICTIM_ELF_OFFSETS_H
#define VICTIM_ELF_OFFSETS_H

#include <stdio.h>

static inline void print_offset(const char *name, void *address)
{
	unsigned long want = (unsigned long)address, start, end, offset;
	char line[4608], perms[8];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &offset) == 4 &&
		    want >= start && want < end)
			printf("%s 0x%lx\n", name, want - start + offset);
	if (maps)
		fclose(maps);
}

#define PRINT_OFFSET(function) print_offset(#function, (void *)(function))

#endif
