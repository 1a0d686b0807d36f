/*
 * Where a function's probe goes and how its end is seen: its code is decoded, the site chosen,
 * its exits collected, and what may happen to its frame weighed. Each decision comes with its
 * reason.
 */
#ifndef TARGET_JUDGE_H
#define TARGET_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"
#include "model/spec.h"
#include "target/functions.h"

/* What is known of the file that all functions are in. */
struct judge_file {
	const struct functions *functions;
	struct arena *arena; /* texts and sites are put here */
	bool is_library, is_go;
	bool return_is_safe;  /* nothing in the file speaks against return probes */
	const char *evidence; /* why (not) */
	bool altstack;	      /* it lets signals run on another stack, at any time */
	bool nop5_is_cheap;   /* the kernel makes probes on five-byte nops fast */
};

struct judged {
	/* In. */
	uint64_t address, size; /* virtual; size 0: not known */
	enum exit_mode exit;
	const char *switches; /* what its process maps that switches stacks; NULL: nothing */

	/* Out. */
	enum reason reason; /* REASON_NONE, or why not */
	const char *detail, *warning;
	uint64_t entry_offset; /* in the file */
	int32_t entry_sp_adjust;
	uint32_t entry_condition;
	struct plan_entry entry;
	enum exit_strategy strategy;
	const struct plan_site *sites;
	size_t n_sites;
};

/*
 * Judge `n` functions of one file together: what one shows of the others is used, and each is
 * decoded once.
 */
void judge(const struct judge_file *file, struct judged *const *functions, size_t n);

#endif
