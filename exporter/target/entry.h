/*
 * Where the probe for a function's entry goes. The kernel emulates a few instructions and
 * single-steps the others at several times the cost, and modern compilers begin functions with
 * one of the others (endbr64). So the site moves forward to the first cheap instruction, as far
 * as nothing that a probe could see happens before it.
 */
#ifndef TARGET_ENTRY_H
#define TARGET_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/code.h"

struct entry_rules {
	/* Registers that must still hold what the caller passed, as bits in the machine's numbering
	 * (x86-64: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 8, …). */
	uint64_t captured_registers;
	bool may_push;	    /* the site may lie below pushes; `pushed_bytes` corrects sp then */
	bool long_nops;	    /* the kernel emulates long nops */
	bool nop5_is_cheap; /* the kernel emulates five-byte nops, or replaces them by a call */
	const uint64_t *symbols; /* addresses of the file's functions, ascending */
	size_t n_symbols;
};

struct entry_site {
	uint64_t address;
	uint64_t delta_bytes;  /* from the function's start */
	uint32_t pushed_bytes; /* sp at the site is this far below sp at the entry */
	enum code_class at_start, at_site;
	bool is_loop_head; /* the site is also jumped to from inside: it counts too often there */
	char start_text[CODE_TEXT_ROOM], site_text[CODE_TEXT_ROOM];
	char why[160]; /* why it is where it is, or why it cannot be probed */
};

/*
 * Choose the site. When the chosen site's class is CODE_REFUSED or it is_loop_head, the function
 * cannot be probed there, and `why` says what is in the way.
 */
void entry_choose(const struct code *code, const struct entry_rules *rules,
		  struct entry_site *site);

/*
 * Judge a probe at a place that the user gave, `address` inside the function: 0 and the site, or
 * -EINVAL with `why`: not an instruction boundary (the boundary is named), refused by the kernel,
 * or a five-byte nop after the entry, which kernels replace by code that overwrites the red zone.
 */
int entry_check(const struct code *code, uint64_t address, struct entry_site *site);

#endif
