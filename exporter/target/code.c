/* Decoding a function: checks before and after the walk, and the questions about the result. */
#include "target/code.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/code_machine.h"
#include "target/code_stack.h"

static const struct {
	uint16_t machine;
	const struct code_machine *operations;
} machines[] = {
	{EM_X86_64, &code_x86_machine},
	{EM_AARCH64, &code_arm64_machine},
};

/* Only the first reason is kept: what follows from it would mislead. */
void code_give_up(struct code *code, const char *fmt, ...)
{
	va_list args;

	if (!code->complete)
		return;
	code->complete = false;
	va_start(args, fmt);
	vsnprintf(code->why, sizeof(code->why), fmt, args);
	va_end(args);
}

struct code_where code_where(const struct code *code, uint64_t address)
{
	const struct code_region *function = &code->region[0];
	bool inside = address - function->address < function->size;
	struct code_where where;

	snprintf(where.text, sizeof(where.text), "%s%#" PRIx64, inside ? "+" : "",
		 inside ? address - function->address : address);
	return where;
}

bool code_place(const struct code *code, uint64_t address, uint64_t *place, uint64_t *room)
{
	uint64_t before = 0;

	for (size_t i = 0; i < code->n_regions; i++) {
		const struct code_region *region = &code->region[i];
		uint64_t at = address - region->address;
		if (at < region->size) {
			*place = before + at;
			*room = region->size - at;
			return true;
		}
		before += region->size;
	}
	return false;
}

const unsigned char *code_bytes(const struct code *code, uint64_t address, size_t *room)
{
	for (size_t i = 0; i < code->n_regions; i++) {
		const struct code_region *region = &code->region[i];
		uint64_t at = address - region->address;
		if (at < region->size) {
			*room = region->size - at;
			return region->bytes + at;
		}
	}
	return NULL;
}

/*
 * Bytes that no path reaches must be padding. Anything else is code that is entered in a way
 * that the walk has not seen, or data; there may be exits in it.
 */
static void check_unreached(struct code *code)
{
	uint64_t place = 0, first = 0;

	for (size_t i = 0; i < code->n_regions; i++) {
		const struct code_region *region = &code->region[i];
		for (uint64_t at = 0; at < region->size;) {
			size_t padding = 0;
			if (code->map[place + at] != CODE_MAP_NOTHING) {
				at++;
				continue;
			}
			padding = code->machine->padding(region->bytes + at, region->size - at);
			if (!padding && !code->unreached_bytes++)
				first = region->address + at;
			at += padding ? padding : 1;
		}
		place += region->size;
	}
	if (code->unreached_bytes)
		code_give_up(code, "%" PRIu64 " bytes from %s on are not reached by any path",
			     code->unreached_bytes, code_where(code, first).text);
}

bool code_ends_at(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n_regions; i++) {
		if (address == code->region[i].address + code->region[i].size)
			return true;
	}
	return false;
}

/*
 * Where the source says that a call does not return (__builtin_unreachable), gcc may leave a jump
 * from behind it to the end of the function.
 */
static bool is_unreachable(const struct code *code, const struct code_exit *exit,
			   const struct code_step *step)
{
	return exit->kind == CODE_JUMP && step->from != CODE_NONE && !step->jumped &&
	       (code->steps.at[step->from].flow == FLOW_CALL ||
		code->steps.at[step->from].flow == FLOW_CALL_SLOT) &&
	       code_ends_at(code, exit->target);
}

/* An exit must leave the stack as the caller had it; a jump that does not is no tail call. */
static void check_depth(struct code *code, const struct code_exit *exit,
			const struct code_step *step)
{
	bool is_direct = exit->kind == CODE_JUMP || exit->kind == CODE_JUMP_IF;

	if (step->unsure && !step->sp_known)
		code_give_up(code, "the indirect jump at %s is not understood",
			     code_where(code, exit->address).text);
	if (exit->depth_known ? !exit->depth : !is_direct)
		return;
	if (is_direct)
		*vec_push(&code->strays) = exit->target;
	if (!exit->depth_known)
		code_give_up(code, "jumps away at %s with an unknown stack depth",
			     code_where(code, exit->address).text);
	code_give_up(code, "leaves at %s with %d bytes on the stack",
		     code_where(code, exit->address).text, exit->depth);
}

/* Whether the instruction puts something where a return would take its address from. */
static bool puts_address(const struct code *code, const struct code_step *step)
{
	struct code_frame frame = {.sp_known = true};
	struct code_copy copy = {0};
	size_t room;
	const unsigned char *bytes = code_bytes(code, step->address, &room);

	if (!bytes)
		return true;
	code->machine->track(bytes, room, step->address, &frame);
	code->machine->copy(bytes, room, &copy);
	return (frame.sp_known && frame.sp > 0) ||
	       (copy.kind == COPY_SAVE && copy.base == code->machine->stack_pointer &&
		!copy.displacement);
}

/*
 * x86-64: a return takes its address from where the call has put it, so that a function that has
 * aligned its stack, or moved it by an amount that is not followed, has it back there as it was.
 * Not so where the address is another one: put there just before, or on another stack.
 */
static bool is_plain_return(const struct code *code, const struct code_exit *exit,
			    const struct code_step *step)
{
	uint64_t at;

	return code->machine == &code_x86_machine && exit->kind == CODE_RETURN && !step->jumped &&
	       step->from != CODE_NONE && !puts_address(code, &code->steps.at[step->from]) &&
	       !code_stack_is_switched(code, false, &at);
}

static void check_exits(struct code *code)
{
	size_t n = 0;

	for (size_t i = 0; i < code->exits.n; i++) {
		struct code_exit *exit = &code->exits.at[i];
		const struct code_step *step = code_step_at(code, exit->address);
		exit->depth_known = step->sp_known;
		exit->depth = step->sp_known ? step->sp : 0;
		if (!exit->depth_known)
			exit->depth_known = is_plain_return(code, exit, step);
		if ((exit->depth || !exit->depth_known) && is_unreachable(code, exit, step))
			continue;
		check_depth(code, exit, step);
		code->exits.at[n++] = *exit;
	}
	code->exits.n = n;
}

static int by_exit_address(const void *a, const void *b)
{
	const struct code_exit *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static int by_call_target(const void *a, const void *b)
{
	const struct code_call *left = a, *right = b;

	if (left->target != right->target)
		return left->target < right->target ? -1 : 1;
	return left->slot - right->slot;
}

static void sort_results(struct code *code)
{
	size_t n = 0;

	if (code->exits.n)
		qsort(code->exits.at, code->exits.n, sizeof(*code->exits.at), by_exit_address);
	if (code->calls.n)
		qsort(code->calls.at, code->calls.n, sizeof(*code->calls.at), by_call_target);
	for (size_t i = 0; i < code->calls.n; i++) {
		if (!n || by_call_target(&code->calls.at[n - 1], &code->calls.at[i]))
			code->calls.at[n++] = code->calls.at[i];
	}
	code->calls.n = n;
}

/* Check and take over the regions; false when there is nothing to walk. */
static bool take_regions(struct code *code, const struct code_request *request)
{
	if (request->n_regions == 0 || request->n_regions > CODE_MOST_REGIONS) {
		code_give_up(code, "the function lies in %zu parts", request->n_regions);
		return false;
	}
	for (size_t i = 0; i < request->n_regions; i++) {
		const struct code_region *region = &request->regions[i];
		if (region->size == 0 || region->size > CODE_MOST_BYTES - code->size ||
		    region->address + region->size < region->address) {
			code_give_up(code,
				     region->size ? "the function is larger than %u bytes"
						  : "the function is empty",
				     CODE_MOST_BYTES);
			return false;
		}
		for (size_t j = 0; j < i; j++) {
			const struct code_region *other = &request->regions[j];
			if (region->address - other->address < other->size ||
			    other->address - region->address < region->size) {
				code_give_up(code, "the function's parts overlap");
				return false;
			}
		}
		code->region[code->n_regions++] = *region;
		code->size += region->size;
	}
	return true;
}

static bool start(struct code *code, const struct code_request *request)
{
	*code = (struct code){.complete = true};
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (machines[i].machine == request->machine)
			code->machine = machines[i].operations;
	}
	if (!code->machine) {
		code_give_up(code, "code of this machine (%u) is not understood", request->machine);
		return false;
	}
	if (!take_regions(code, request)) {
		code->n_regions = 0;
		return false;
	}
	code->map = alloc_resize(NULL, code->size, sizeof(*code->map));
	for (uint64_t i = 0; i < code->size; i++)
		code->map[i] = CODE_MAP_NOTHING;
	return true;
}

void code_decode(struct code *code, const struct code_request *request)
{
	if (!start(code, request))
		return;
	code_walk(code, request);
	code_frame_fill(code, request);
	if (code->complete)
		check_unreached(code);
	check_exits(code);
	sort_results(code);
}

void code_free(struct code *code)
{
	vec_fini(&code->steps);
	vec_fini(&code->edges);
	vec_fini(&code->strays);
	vec_fini(&code->exits);
	vec_fini(&code->calls);
	free(code->map);
	*code = (struct code){0};
}

const struct code_step *code_step_at(const struct code *code, uint64_t address)
{
	uint64_t place, room;

	if (!code_place(code, address, &place, &room) || code->map[place] == CODE_MAP_NOTHING ||
	    code->map[place] == CODE_MAP_INSIDE)
		return NULL;
	return &code->steps.at[code->map[place]];
}

uint64_t code_boundary(const struct code *code, uint64_t address)
{
	uint64_t place, room, back = 0;

	if (!code_place(code, address, &place, &room))
		return 0;
	while (code->map[place - back] == CODE_MAP_INSIDE)
		back++;
	return code->map[place - back] == CODE_MAP_NOTHING ? 0 : address - back;
}

enum code_class code_classify(const struct code *code, uint64_t address, const char **why)
{
	size_t room;
	const unsigned char *bytes = code_bytes(code, address, &room);
	const char *unwanted;

	if (!why)
		why = &unwanted;
	*why = NULL;
	if (bytes)
		return code->machine->classify(bytes, room, why);
	*why = "it lies outside of the function";
	return CODE_REFUSED;
}

void code_text(const struct code *code, uint64_t address, char text[CODE_TEXT_ROOM])
{
	size_t room;
	const unsigned char *bytes = code_bytes(code, address, &room);

	snprintf(text, CODE_TEXT_ROOM, "(bad)");
	if (bytes)
		code->machine->text(bytes, room, address, text);
}

const char *code_class_name(enum code_class class)
{
	static const char *const names[] = {
		[CODE_EMULATED] = "emulated",  [CODE_LONG_NOP] = "long nop",
		[CODE_NOP5] = "five-byte nop", [CODE_STEPPED] = "single-stepped",
		[CODE_REFUSED] = "refused",
	};

	return names[class];
}
