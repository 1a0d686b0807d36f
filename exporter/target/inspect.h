/*
 * Everything that one file tells about the functions wanted from it, in as few passes over it as
 * possible; nothing of the file is kept afterwards.
 */
#ifndef TARGET_INSPECT_H
#define TARGET_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/plan.h"
#include "target/judge.h"

/*
 * One wanted function. `text` is in, as is what expand.c has found; the rest is out. All of it
 * lives in the arena.
 */
struct inspect_wanted {
	const char *text; /* name, name@VERSION or name@@VERSION; of a pattern: its fixed letters */
	const char *pattern; /* nothing matches this pattern; NULL: it is not about one */
	bool settled; /* `reason`, or `symbol`, `offset` and `size`, are in: do not look up */
	bool inside;  /* a place inside a function: the probe goes there, and only counts */
	const char *demangled, *source; /* of a settled match; NULL where there is none */
	const char *label;		/* the label `function`; NULL: as configured */
	enum reason reason;
	const char *detail;  /* why not, and the way out */
	const char *warning; /* NULL when there is none */
	const char *symbol;  /* full name, with version */
	uint64_t offset, size;
	uint64_t address; /* virtual */
	/* `exit` and `switches` are in; the rest is out, unless there is a reason above. */
	struct judged judged;
};

/* What holds for the file as a whole; texts live in the arena. */
struct inspect_facts {
	enum reason reason; /* REASON_NONE: the file can be probed; else `detail` says why not */
	const char *detail;
	bool is_library;
	const char *soname; /* NULL when it has none */
	bool is_go;
	bool return_is_safe; /* `exit: auto` may use return probes; `evidence` says why (not) */
	const char *evidence;
};

/*
 * Inspect `file`, whose fd is open, and fill its build_id, exec_offset and exec_size, `facts` and
 * each of `wanted`. When the file cannot be probed, every wanted function has the file's reason.
 */
void inspect_file(struct plan_file *file, struct inspect_wanted *wanted, size_t n,
		  struct arena *arena, struct inspect_facts *facts);

#endif
