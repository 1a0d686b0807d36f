/*
 * The perf map is what just-in-time compilers write for profilers: lines "START SIZE NAME" in
 * /tmp/perf-PID.map, with the process's own number for itself in its own /tmp (Linux
 * tools/perf/Documentation/jit-interface.txt). It belongs to the target and is not trusted.
 */
#include "target/runtime.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/proc.h"

enum { MOST_LINES = 1 << 20 };

/* Runtimes that generate code, by a mapped file's name. */
static const struct {
	const char *pattern, *what, *instead;
} runtimes[] = {
	{"libjvm.so", "a Java virtual machine",
	 "JMX, a Java agent, or the USDT sites of libjvm.so"},
	{"node", "Node.js (V8)", "the perf_hooks module, or a metrics library for Node.js"},
	{"nodejs", "Node.js (V8)", "the perf_hooks module, or a metrics library for Node.js"},
	{"libnode.so*", "Node.js (V8)", "the perf_hooks module, or a metrics library for Node.js"},
	{"libv8.so*", "V8", "its embedder's own metrics"},
	{"libcoreclr.so", ".NET", "System.Diagnostics.Metrics, or dotnet-counters"},
	{"libmono*", "Mono", "its profiler interface"},
	{"libluajit*", "LuaJIT", "its profiler (jit.p)"},
	{"luajit*", "LuaJIT", "its profiler (jit.p)"},
	{"libmozjs*", "SpiderMonkey", "its embedder's own metrics"},
	{"libjavascriptcoregtk*", "JavaScriptCore", "its embedder's own metrics"},
	{"beam.smp", "the Erlang virtual machine", "its tracing (dbg), or its USDT sites"},
	{"libjulia*", "Julia", "its own profiler"},
	{"hhvm", "HHVM", "its own metrics"},
};

/* Libraries that run functions on stacks of their own making. */
static const char *const switchers[] = {
	"libboost_context.so*",
	"libboost_coroutine.so*",
	"libboost_fiber.so*",
	"libco.so*",
	"libcoro.so*",
	"libpth.so*",
	"libst.so*",
	"libtask.so*",
	"libpcl.so*",
	"libmill.so*",
	"libdill.so*",
	"libgo.so*",
	"libluajit*",
};

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the perf map ---- */

/* The number that the process has in its own pid namespace. */
static int own_number(pid_t pid)
{
	char path[64], line[512];
	int number = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		const char *last = strrchr(line, '\t');
		if (strncmp(line, "NSpid:", 6) == 0 && last)
			number = atoi(last + 1);
	}
	if (status)
		fclose(status);
	return number;
}

/* Links are followed within the process's own root only. */
static FILE *open_perf_map(pid_t pid)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int root = -1;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return NULL;
	snprintf(path, sizeof(path), "tmp/perf-%d.map", own_number(pid));
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fdopen(fd, "r");
	close(fd);
	return NULL;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Whether `name` stands in `line` as a whole word: runtimes add classes, files and tiers. */
static bool names(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(line, name); at; at = strstr(at + 1, name))
		if ((at == line || !is_name_byte(at[-1])) && !is_name_byte(at[length]))
			return true;
	return false;
}

static bool perf_map_lists(pid_t pid, const char *function)
{
	char line[4096]; /* the rest of a longer one is taken for a line */
	bool found = false;
	FILE *map = *function ? open_perf_map(pid) : NULL;

	for (int i = 0; map && !found && i < MOST_LINES && fgets(line, sizeof(line), map); i++)
		found = names(line, function);
	if (map)
		fclose(map);
	return found;
}

/* ---- mappings ---- */

struct look {
	int runtime, switcher; /* indexes; -1: none */
	bool generated;	       /* executable memory that no file stands behind */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void visit(void *context, const struct proc_mapping *mapping)
{
	struct look *look = context;
	const char *path = mapping->path, *name = base_name(path);

	if (!mapping->executable)
		return;
	if (!*path || strncmp(path, "[anon", 5) == 0 || strncmp(path, "//anon", 6) == 0 ||
	    strncmp(path, "/memfd:", 7) == 0)
		look->generated = true;
	for (size_t i = 0; look->runtime < 0 && i < N_ITEMS(runtimes); i++)
		if (fnmatch(runtimes[i].pattern, name, 0) == 0)
			look->runtime = (int)i;
	for (size_t i = 0; look->switcher < 0 && i < N_ITEMS(switchers); i++)
		if (fnmatch(switchers[i], name, 0) == 0)
			look->switcher = (int)i;
}

static struct look look_at(pid_t pid)
{
	struct look look = {.runtime = -1, .switcher = -1};

	proc_visit(pid, visit, &look);
	return look;
}

const char *runtime_generates(pid_t pid, const char *function, struct arena *arena)
{
	struct look look = look_at(pid);
	bool runs = look.runtime >= 0 && look.generated, lists = perf_map_lists(pid, function);

	if (!runs && !lists)
		return NULL;
	return arena_printf(
		arena,
		"process %d %s%s%s: no file holds code that is generated at run time, and "
		"it moves. Use %s",
		(int)pid, runs ? "runs " : "", runs ? runtimes[look.runtime].what : "",
		!lists ? ", which generates functions while it runs"
		: runs ? ", and its perf map lists a function of this name"
		       : "lists a function of this name in its perf map",
		runs ? runtimes[look.runtime].instead
		     : "the runtime's own instrumentation, or its USDT sites");
}

const char *runtime_switches(pid_t pid, struct arena *arena)
{
	struct look look = look_at(pid);

	if (look.switcher < 0)
		return NULL;
	return arena_printf(arena, "process %d maps %.*s, which switches stacks", (int)pid,
			    (int)strcspn(switchers[look.switcher], ".*"), switchers[look.switcher]);
}
