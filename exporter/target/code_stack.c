/*
 * Registers and places in the frame that hold addresses of the function's own stack, followed
 * along its control flow until nothing changes. Where paths meet, what holds on one of them is
 * kept: compilers share registers and places among variables, but restore only what they saved,
 * while a switch is right behind the load of the other stack.
 */
#include "target/code_stack.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "target/code_machine.h"

#define MOST_ROUNDS 4	/* a saved address that is loaded, and saved again elsewhere */
#define MOST_SLOTS  256 /* the rest is not remembered: what is loaded from there is foreign */

/* A place in the stack where an address of it is saved, as instructions name it. */
struct slot {
	int64_t displacement;
	uint8_t base;
};

struct search {
	const struct code *code;
	bool split_off;
	uint64_t *own; /* for each step: registers that hold such addresses before it; 0: unseen */
	VEC(uint32_t) pending;
	VEC(struct slot) slots;
};

static bool is_saved(const struct search *search, const struct code_copy *copy)
{
	for (size_t i = 0; i < search->slots.n; i++)
		if (search->slots.at[i].base == copy->base &&
		    search->slots.at[i].displacement == copy->displacement)
			return true;
	return false;
}

static struct code_copy copy_of(const struct search *search, const struct code_step *step)
{
	struct code_copy copy = {.writes = UINT64_MAX};
	size_t room;
	const unsigned char *bytes = code_bytes(search->code, step->address, &room);

	if (bytes)
		search->code->machine->copy(bytes, room, &copy);
	return copy;
}

static uint64_t bit(unsigned reg)
{
	return UINT64_C(1) << reg;
}

/* The registers that hold addresses of the stack behind the instruction. */
static uint64_t behind(const struct search *search, const struct code_copy *copy, uint64_t own)
{
	uint64_t after = own & ~copy->writes;

	switch (copy->kind) {
	case COPY_NONE:
	case COPY_SAVE:
		return after;
	case COPY_ANY:
		return copy->from & own ? after | bit(copy->to) : after;
	case COPY_ALL:
		return (copy->from & own) == copy->from ? after | bit(copy->to) : after;
	case COPY_LOAD:
		return own & bit(copy->base) && is_saved(search, copy) ? after | bit(copy->to)
								       : after;
	}
	return after;
}

static void reach(struct search *search, uint64_t address, uint64_t own)
{
	const struct code_step *step = code_step_at(search->code, address);

	if (!step)
		return;
	uint32_t index = (uint32_t)(step - search->code->steps.at);
	if ((search->own[index] | own) == search->own[index])
		return;
	search->own[index] |= own;
	*vec_push(&search->pending) = index;
}

static bool goes_on(const struct code_step *step)
{
	return step->flow <= FLOW_CALL_INDIRECT || step->flow == FLOW_BRANCH ||
	       step->flow == FLOW_BRANCH_OTHER;
}

static void propagate(struct search *search, uint32_t index)
{
	const struct code *code = search->code;
	const struct code_step *step = &code->steps.at[index];
	const struct code_copy copy = copy_of(search, step);
	uint64_t own = behind(search, &copy, search->own[index]);

	/* One alarm is enough: what follows is judged as if this had been no switch. */
	own |= bit(code->machine->stack_pointer);
	for (uint32_t i = 0; i < step->n_edges; i++)
		reach(search, code->edges.at[step->first_edge + i], own);
	if (goes_on(step))
		reach(search, step->address + step->length, own);
}

/* Where exceptions land, the registers are as the function left them: taken for its own. */
static void follow(struct search *search)
{
	const struct code *code = search->code;
	uint64_t start = code->n_regions ? code->region[0].address : 0;

	memset(search->own, 0, code->steps.n * sizeof(*search->own));
	for (size_t i = 0; i < code->steps.n; i++)
		if (code->steps.at[i].from == CODE_NONE)
			reach(search, code->steps.at[i].address,
			      code->steps.at[i].address == start && !search->split_off
				      ? bit(code->machine->stack_pointer)
				      : UINT64_MAX);
	while (search->pending.n)
		propagate(search, search->pending.at[--search->pending.n]);
}

/* Where addresses of the stack are saved; whether that is more than was known. */
static bool find_saved(struct search *search)
{
	size_t before = search->slots.n;

	for (size_t i = 0; i < search->code->steps.n; i++) {
		const struct code_copy copy = copy_of(search, &search->code->steps.at[i]);
		if (copy.kind == COPY_SAVE && copy.from & search->own[i] &&
		    search->own[i] & bit(copy.base) && !is_saved(search, &copy) &&
		    search->slots.n < MOST_SLOTS)
			*vec_push(&search->slots) = (struct slot){copy.displacement, copy.base};
	}
	return search->slots.n > before;
}

static bool find_switch(struct search *search, uint64_t *at)
{
	uint64_t sp = bit(search->code->machine->stack_pointer);

	for (size_t i = 0; i < search->code->steps.n; i++) {
		const struct code_copy copy = copy_of(search, &search->code->steps.at[i]);
		*at = search->code->steps.at[i].address;
		if (search->own[i] && !(behind(search, &copy, search->own[i]) & sp))
			return true;
	}
	return false;
}

bool code_stack_is_switched(const struct code *code, bool split_off, uint64_t *at)
{
	struct search search = {.code = code, .split_off = split_off};
	bool found = true, more = true;

	search.own = alloc_zero(code->steps.n, sizeof(*search.own));
	for (unsigned i = 0; i < MOST_ROUNDS && found && more; i++) {
		follow(&search);
		found = find_switch(&search, at);
		more = found && find_saved(&search);
	}
	free(search.own);
	vec_fini(&search.pending);
	vec_fini(&search.slots);
	return found;
}

static const struct code_machine *machine_of(uint16_t machine)
{
	return machine == EM_X86_64    ? &code_x86_machine
	       : machine == EM_AARCH64 ? &code_arm64_machine
				       : NULL;
}

size_t code_stack_find(uint16_t machine, const unsigned char *bytes, size_t from, size_t length)
{
	const struct code_machine *decoder = machine_of(machine);

	return decoder ? decoder->find_stack_load(bytes, from, length) : length;
}

/* x86-64: REX, and the legacy prefixes. arm64 has nothing that is one byte long. */
static bool is_prefix(unsigned char byte)
{
	static const unsigned char legacy[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e,
					       0x36, 0x3e, 0x26, 0x64, 0x65};

	return byte >> 4 == 4 || memchr(legacy, byte, sizeof(legacy));
}

bool code_stack_is_boundary(uint16_t machine, const unsigned char *bytes, size_t length, size_t at)
{
	const struct code_machine *decoder = machine_of(machine);

	for (size_t i = 0, n; decoder && i < at; i += n) {
		n = decoder->length(bytes + i, length - i);
		if (!n)
			return true;
		if (i + n > at)
			return at - i == 1 && is_prefix(bytes[i]);
	}
	return true;
}
