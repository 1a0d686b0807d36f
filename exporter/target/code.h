/*
 * What a function's machine code does, as far as probing it goes: where its instructions begin,
 * where its branches go, how it is left, and what it calls. The code is walked along its control
 * flow from the entry; whatever is not understood makes the answer incomplete, with the reason,
 * because a missed exit would leave calls open for ever and a probe inside an instruction
 * destroys the program.
 *
 * The bytes are untrusted. Nothing here depends on the machine that the exporter runs on.
 */
#ifndef TARGET_CODE_H
#define TARGET_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define CODE_MOST_BYTES	  (1u << 20) /* of all regions of one function */
#define CODE_MOST_INSNS	  200000u
#define CODE_MOST_REGIONS 16u
#define CODE_TEXT_ROOM	  96

/* A stretch of code; `bytes` is borrowed and holds `size` bytes. */
struct code_region {
	uint64_t address; /* virtual, as linked */
	uint64_t size;
	const unsigned char *bytes;
};

/*
 * Read `length` bytes at a virtual address, with relative relocations applied where the file
 * keeps the values in its relocations. 0 or -errno. For jump tables.
 */
typedef int code_read(void *context, uint64_t address, void *bytes, size_t length);

/*
 * Where control enters besides the start: a place where exceptions land that were thrown by the
 * calls in [site, site + site_size), with the stack as it was at the call.
 */
struct code_entry {
	uint64_t address, site, site_size;
};

struct code_request {
	uint16_t machine;		   /* EM_X86_64 or EM_AARCH64 */
	const struct code_region *regions; /* [0] is the function, the others its split-off parts */
	size_t n_regions;
	const struct code_entry *entries; /* may be NULL */
	size_t n_entries;
	code_read *read; /* NULL: tables cannot be read */
	void *context;
};

/* What the kernel does with a probe at an instruction. */
enum code_class {
	CODE_EMULATED, /* carried out by the kernel, on every kernel we support */
	CODE_LONG_NOP, /* emulated by kernels that know long nops, else single-stepped */
	CODE_NOP5,     /* a five-byte nop: kernels with optimised uprobes replace it by a call */
	CODE_STEPPED,  /* executed out of line under single-step */
	CODE_REFUSED,  /* the kernel does not take the probe, or it would do harm */
};

enum code_exit_kind {
	CODE_RETURN,
	CODE_JUMP,	    /* direct, out of the body */
	CODE_JUMP_IF,	    /* direct and conditional: `condition` tells when it leaves */
	CODE_JUMP_INDIRECT, /* through a register or memory */
};

struct code_exit {
	uint64_t address; /* of the instruction that leaves */
	uint64_t target; /* direct jumps: where to; indirect through a fixed slot: the slot; or 0 */
	int32_t depth;	 /* bytes on the stack since the entry; 0 where it is not known */
	bool depth_known;
	uint8_t length;
	/*
	 * CODE_JUMP_IF: as the instruction encodes it. x86-64: the low four bits of the opcode
	 * (Intel SDM volume 1, appendix B). arm64: the cond field.
	 */
	uint8_t condition;
	enum code_exit_kind kind;
	enum code_class class;
};

struct code_call {
	uint64_t target; /* or, for a call through a fixed slot (GOT), the slot's address */
	bool slot;
};

/* One instruction that control reaches. */
struct code_step {
	uint64_t address;
	uint32_t from;	/* index of a step from which control comes, or CODE_NONE: an entry */
	int32_t sp, bp; /* how far the stack and frame pointer are below sp at the entry */
	uint8_t length;
	uint8_t flow; /* enum code_flow */
	bool jumped;  /* `from` jumps here */
	bool target;  /* of a branch or a table */
	bool unsure;  /* an indirect jump that leaves if nothing is on the stack */
	bool sp_known, bp_known, seen;
	uint32_t first_edge, n_edges; /* in edges[]: where it jumps inside the function */
};
#define CODE_NONE UINT32_MAX

struct code_machine;

struct code {
	const struct code_machine *machine;
	struct code_region region[CODE_MOST_REGIONS];
	size_t n_regions;
	uint64_t size; /* of all regions */

	bool complete;
	char why[192]; /* when not complete: the first reason */

	VEC(struct code_step) steps; /* in the order they were found */
	VEC(uint64_t) edges;	     /* targets of jumps inside, together for each step */
	VEC(struct code_exit) exits; /* by address */
	VEC(struct code_call) calls; /* direct and through slots; each once, by target */
	uint32_t n_indirect_calls;   /* through registers or computed memory */
	uint32_t n_tables;	     /* jump tables recognised */
	/*
	 * Places outside where control goes on with this function's stack: through a jump table,
	 * or by a jump with bytes on the stack, or with nobody knows how many. Likely the
	 * function's split-off parts: add the regions that hold them (symbols or FDEs), and decode
	 * again.
	 */
	VEC(uint64_t) strays;
	uint64_t unreached_bytes; /* not padding, and no path leads there */
	uint32_t *map;		  /* per byte of the regions: what is there; private */
};

/*
 * Decode a function. `code` is always left valid; `complete` tells whether every path was
 * followed. The regions' bytes must stay as long as `code` is used.
 */
void code_decode(struct code *code, const struct code_request *request);
void code_free(struct code *code);

/* The step that begins at `address`, or NULL. */
const struct code_step *code_step_at(const struct code *code, uint64_t address);
/*
 * The start of the known instruction that holds `address`: equal to it at a boundary, 0 when
 * no instruction that control reaches is there.
 */
uint64_t code_boundary(const struct code *code, uint64_t address);

/*
 * What the kernel does with a probe at `address` (in a region; need not be reached). `why`
 * (may be NULL) gets a static text for CODE_REFUSED; CODE_REFUSED too when nothing decodes.
 */
enum code_class code_classify(const struct code *code, uint64_t address, const char **why);
/* The instruction at `address` in AT&T syntax; "(bad)" when it does not decode. */
void code_text(const struct code *code, uint64_t address, char text[CODE_TEXT_ROOM]);

const char *code_class_name(enum code_class class);

#endif
