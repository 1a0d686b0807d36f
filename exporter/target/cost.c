/* The cost of probes that touch every process. Figures: see ARCHITECTURE.md, "Whom a link touches".
 */
#include "target/cost.h"

#include <string.h>

const char cost_ways_out[] =
	"name the processes (process: ...), or accept the cost (host_cost: allow)";

/* Libraries that every program of a machine maps, whatever is running at the moment; `*`: any end.
 */
static const struct {
	const char *soname, *what;
} everywhere[] = {
	{"libc.so.6", "the C library"},
	{"libc.so.6.1", "the C library"},
	{"libc.so", "the C library"},
	{"libc.musl-*", "the C library"},
	{"libc-2.*", "the C library"},
	{"ld-linux*", "the program interpreter"},
	{"ld64.so.*", "the program interpreter"},
	{"ld.so.1", "the program interpreter"},
	{"ld-musl-*", "the C library and program interpreter"},
	{"ld-2.*", "the program interpreter"},
	{"libpthread.so.0", "part of the C library"},
	{"libdl.so.2", "part of the C library"},
	{"librt.so.1", "part of the C library"},
};

static bool matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] == '*')
		return strncmp(name, pattern, length - 1) == 0;
	return strcmp(name, pattern) == 0;
}

static const char *everywhere_as(const char *name)
{
	for (size_t i = 0; name && i < sizeof(everywhere) / sizeof(*everywhere); i++)
		if (matches(everywhere[i].soname, name))
			return everywhere[i].what;
	return NULL;
}

static const char *count_text(uint32_t n, const char *one, const char *more, struct arena *arena)
{
	return arena_printf(arena, "%u %s", n, n == 1 ? one : more);
}

const char *cost_of_host(const struct plan_file *file, bool is_library, const char *soname,
			 uint32_t most_programs, struct arena *arena)
{
	const char *slash = strrchr(file->path, '/');
	const char *what = everywhere_as(soname ? soname : slash ? slash + 1 : file->path);

	if (!is_library || (!what && file->mapping_programs <= most_programs))
		return NULL;
	return arena_printf(
		arena,
		"%s%s%s%s is mapped by %s of %s now: each probed page becomes a private 4 KiB copy "
		"in "
		"every one of them, each call that any of them makes takes a trap of about a "
		"microsecond, and their forks get slower",
		file->path, what ? " (" : "", what ? what : "", what ? ")" : "",
		count_text(file->mapping_processes, "process", "processes", arena),
		count_text(file->mapping_programs, "program", "different programs", arena));
}
