/*
 * The plan: a spec after resolution against the files of this machine. One plan_probe for every
 * configured function, in the spec's order, whether it can be attached or not; a `match:` has one
 * for each name that matched, or one for the pattern itself when none did. A plan borrows from
 * its spec, which must outlive it.
 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "bpf/contract.h"
#include "model/spec.h"

/* How the end of a call will be seen, once `auto` is decided. */
enum exit_strategy {
	STRATEGY_NONE,
	STRATEGY_URETPROBE,
	STRATEGY_RETURN_SITES,
	STRATEGY_USDT, /* of spec_is_usdt() only: at marks, instead of an entry and exits */
};

/* A USDT site: an instruction that the program put there to be probed. */
struct plan_mark {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* the same, of the counter that the program looks at; 0: none */
	bool ends;	    /* a measurement ends there; else it begins there, or the hit counts */
	struct up_arg key;  /* what tells which end belongs to which start; none: the thread */
};

/* An instruction that leaves the function: `ret`, or a jump out of the body. */
struct plan_site {
	uint64_t offset;    /* in the file */
	int32_t sp_adjust;  /* bytes to add to sp there to get sp at the function's entry */
	uint32_t condition; /* enum up_condition: it leaves only if this holds */
};

/* A file that probes go into, opened once: path and descriptor mean the same inode. */
struct plan_file {
	const char *path; /* canonical, for people */
	int fd;		  /* O_RDONLY, owned by the plan */
	dev_t dev;
	ino_t ino;
	off_t size; /* this and the times: before anything was read from it */
	struct timespec modified, changed;
	const char *build_id;		 /* lower-case hex, "" when the file has none */
	uint64_t exec_offset, exec_size; /* file part covering all executable PT_LOADs */
	/* What a probe without process filter touches; 0 when not counted. */
	uint32_t mapping_processes, mapping_programs;
};

/* The instruction that the entry probe stands on, for people; all NULL while it is not known. */
struct plan_entry {
	const char *at_symbol; /* the function's first instruction */
	const char *at_site;   /* the chosen one */
	const char *class;     /* what the kernel does there: "emulated", "single-stepped", … */
	const char *why;       /* why this one */
};

struct plan_probe {
	const struct spec_target *target;
	const struct spec_function *function;
	const char *label; /* value of the label `function` or `probe`; for `match:` the name that
			    * matched */

	enum reason reason; /* REASON_NONE: can be attached; else why not */
	const char
		*detail; /* for people: why not and the way out, or why this strategy; "" if none */
	const char *warning; /* something to tell though it can be attached; NULL if none */

	/* The rest is meaningful only as far as resolution came. */
	const struct plan_file *file; /* NULL while the file is not found */
	const char *symbol;	      /* the symbol's full name in the file, with version */
	uint64_t symbol_offset;	      /* file offset of the symbol */
	uint64_t entry_offset;	      /* file offset of the entry probe */
	uint64_t size;		      /* bytes; 0 when the symbol has none */
	int32_t entry_sp_adjust; /* bytes to add to sp at the entry probe to get it at the symbol */
	uint32_t entry_condition; /* enum up_condition: the entry counts only if it holds */
	struct plan_entry entry;
	enum exit_strategy strategy;
	const struct plan_site *sites; /* STRATEGY_RETURN_SITES: n_sites exits */
	size_t n_sites;
	const struct plan_mark *marks; /* STRATEGY_USDT: n_marks */
	size_t n_marks;
	bool per_process; /* each process that is selected gets links of its own */
	/* An earlier probe of this plan with the same file, site, filter and settings, whose
	 * measurement this one shows as well; NULL when it is attached by itself. */
	const struct plan_probe *shared_with;
};

struct plan {
	struct arena arena;
	const struct spec *spec;
	struct plan_file *files; /* n_files, in arena */
	size_t n_files;
	struct plan_probe *probes;
	size_t n_probes;
};

/* Release a plan and close its files; NULL is fine. */
void plan_free(struct plan *plan);

/* "none", "uretprobe", "return-sites", "usdt". */
const char *exit_strategy_name(enum exit_strategy strategy);

#endif
