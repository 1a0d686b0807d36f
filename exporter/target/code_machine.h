/*
 * What the walk over a function's code needs to know about a machine: the other side of code.h.
 * Only code*.c and entry.c include this.
 */
#ifndef TARGET_CODE_MACHINE_H
#define TARGET_CODE_MACHINE_H

#include "target/code.h"

enum code_flow {
	FLOW_NEXT,	    /* goes on to the next instruction */
	FLOW_CALL,	    /* to `target`, and goes on when the callee returns */
	FLOW_CALL_SLOT,	    /* through the pointer at the fixed address `target` */
	FLOW_CALL_INDIRECT, /* through a register or computed memory */
	FLOW_JUMP,
	FLOW_BRANCH,	   /* conditional on the flags: `condition` */
	FLOW_BRANCH_OTHER, /* conditional on something else (jrcxz, loop, cbz, tbz) */
	FLOW_JUMP_INDIRECT,
	FLOW_RETURN,
	FLOW_STOP, /* traps: no path goes on */
	FLOW_ODD,  /* leaves in a way that cannot be followed: far return, iret */
};

struct code_insn {
	uint8_t length;
	uint8_t condition;
	enum code_flow flow;
	uint64_t target;
	bool slow; /* may block or take long: a site must not move past it */
};

/* Where the stack pointer and the frame pointer are, in bytes below sp at the entry. */
struct code_frame {
	int32_t sp, bp;
	bool sp_known, bp_known;
};

enum code_indirect_kind {
	INDIRECT_TABLE,	 /* `targets` are all places it goes to */
	INDIRECT_TAIL,	 /* leaves the function; `slot` when it is a fixed place in memory */
	INDIRECT_UNSURE, /* leaves the function if nothing is on the stack */
	INDIRECT_UNKNOWN,
};

struct code_indirect {
	enum code_indirect_kind kind;
	uint64_t slot;
	const char *why; /* INDIRECT_UNKNOWN */
	VEC(uint64_t) targets;
};

/* Looking back from an instruction while the walk is under way. */
struct code_view {
	const struct code *code;
	const struct code_request *request;
};

enum code_copy_kind {
	COPY_NONE,
	COPY_ANY,  /* `to` holds an address of the stack if any register of `from` does */
	COPY_ALL,  /* if all of them do */
	COPY_LOAD, /* `to` gets what is saved at `displacement` from the register `base` */
	COPY_SAVE, /* the register of `from` is saved there */
};

/* What an instruction does with addresses of the stack. Registers in the machine's numbering. */
struct code_copy {
	enum code_copy_kind kind;
	uint8_t to, base;
	int64_t displacement;
	uint64_t from;	 /* bits */
	uint64_t writes; /* bits: registers that hold something else afterwards, but `to` */
};

struct code_machine {
	uint8_t stack_pointer;	   /* its number */
	unsigned char lock_prefix; /* that programs jump over; 0: none */
	/* False when no instruction decodes within `room` bytes. */
	bool (*decode)(const unsigned char *bytes, size_t room, uint64_t address,
		       struct code_insn *insn);
	/* Length of the instruction at the start of `bytes`, cheaply; 0 when there is none. */
	size_t (*length)(const unsigned char *bytes, size_t room);
	/* Length of the padding instruction at the start of `bytes`; 0 when it is none. */
	size_t (*padding)(const unsigned char *bytes, size_t room);
	/* What executing the instruction does to the frame. */
	void (*track)(const unsigned char *bytes, size_t room, uint64_t address,
		      struct code_frame *frame);
	/* Where the indirect jump of step `index` goes. The caller frees `targets`. */
	void (*indirect)(const struct code_view *view, uint32_t index,
			 struct code_indirect *indirect);
	enum code_class (*classify)(const unsigned char *bytes, size_t room, const char **why);
	/* The general registers that the instruction writes, as bits in the machine's numbering. */
	uint64_t (*writes)(const unsigned char *bytes, size_t room);
	/* `copy` comes with writes set to all registers. */
	void (*copy)(const unsigned char *bytes, size_t room, struct code_copy *copy);
	/* code_stack_find */
	size_t (*find_stack_load)(const unsigned char *bytes, size_t from, size_t length);
	/* Whether the instruction only marks a place to jump to, or does nothing. */
	bool (*idle)(const unsigned char *bytes, size_t room);
	void (*text)(const unsigned char *bytes, size_t room, uint64_t address,
		     char text[CODE_TEXT_ROOM]);
};

extern const struct code_machine code_x86_machine, code_arm64_machine;

/* The code bytes from `address` to the end of its region; NULL when it lies in none. */
const unsigned char *code_bytes(const struct code *code, uint64_t address, size_t *room);

/* Which byte of the regions, counted through them, `address` is, and the bytes from there on. */
bool code_place(const struct code *code, uint64_t address, uint64_t *place, uint64_t *room);
/* Whether a region ends at `address`. */
bool code_ends_at(const struct code *code, uint64_t address);
/* A place for people: "+0x1a" in the function, "0x150195" (virtual) in its other parts. */
struct code_where {
	char text[24];
};
struct code_where code_where(const struct code *code, uint64_t address);
/* The decode is incomplete. Only the first reason is kept: what follows from it would mislead. */
void code_give_up(struct code *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What map[] says of a byte; everything else is the index of the step that begins there. */
#define CODE_MAP_NOTHING UINT32_MAX
#define CODE_MAP_INSIDE	 (UINT32_MAX - 1)

/* code_walk.c: find steps, edges, exits and calls. */
void code_walk(struct code *code, const struct code_request *request);
/* code_x86_table.c: x86-64's `indirect`. */
void code_x86_table_resolve(const struct code_view *view, uint32_t index,
			    struct code_indirect *indirect);

/* code_frame.c: fill the frames of all steps. */
void code_frame_fill(struct code *code, const struct code_request *request);

#endif
