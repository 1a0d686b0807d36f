/* The walk over a function's code along its control flow. */
#include <inttypes.h>
#include <string.h>

#include "target/code_machine.h"

#define MOST_TABLE_TARGETS (1u << 18)

/* A place where control may go on. */
struct edge {
	uint64_t address;
	uint32_t from;
	bool jumped;
};

struct walk {
	struct code *code;
	struct code_view view;
	VEC(struct edge) pending;
	size_t n_table_targets;
};

static bool inside(const struct code *code, uint64_t address)
{
	uint64_t place, room;

	return code_place(code, address, &place, &room);
}

/* A jump of step `from` inside the function; all edges of a step are added in one go. */
static void add_edge(struct walk *walk, uint64_t address, uint32_t from)
{
	struct code *code = walk->code;
	struct code_step *step = &code->steps.at[from];

	if (!step->n_edges++)
		step->first_edge = (uint32_t)code->edges.n;
	*vec_push(&code->edges) = address;
	*vec_push(&walk->pending) = (struct edge){.address = address, .from = from, .jumped = true};
}

static void add_exit(struct code *code, const struct code_step *step, const struct code_insn *insn,
		     enum code_exit_kind kind, uint64_t target)
{
	struct code_exit *exit = vec_push(&code->exits);

	*exit = (struct code_exit){
		.address = step->address,
		.target = target,
		.length = step->length,
		.condition = insn->condition,
		.kind = kind,
		.class = code_classify(code, step->address, NULL),
	};
}

static void follow_jump(struct walk *walk, uint32_t index, const struct code_insn *insn)
{
	struct code *code = walk->code;
	const struct code_step *step = &code->steps.at[index];

	if (inside(code, insn->target))
		add_edge(walk, insn->target, index);
	else if (insn->flow == FLOW_BRANCH_OTHER)
		code_give_up(code,
			     "the conditional jump at %s leaves the function on a "
			     "condition that is not in the flags",
			     code_where(code, step->address).text);
	else
		add_exit(code, step, insn, insn->flow == FLOW_JUMP ? CODE_JUMP : CODE_JUMP_IF,
			 insn->target);
}

static void follow_table(struct walk *walk, uint32_t index, const struct code_indirect *indirect)
{
	struct code *code = walk->code;
	struct code_where at = code_where(code, code->steps.at[index].address);

	code->n_tables++;
	walk->n_table_targets += indirect->targets.n;
	if (walk->n_table_targets > MOST_TABLE_TARGETS) {
		code_give_up(code, "more than %u jump table entries", MOST_TABLE_TARGETS);
		return;
	}
	for (size_t i = 0; i < indirect->targets.n; i++) {
		/* Compilers send the cases that cannot happen to the end of the function. */
		if (code_ends_at(code, indirect->targets.at[i]))
			continue;
		if (inside(code, indirect->targets.at[i])) {
			add_edge(walk, indirect->targets.at[i], index);
		} else {
			*vec_push(&code->strays) = indirect->targets.at[i];
			code_give_up(
				code,
				"the jump table of the instruction at %s leads out of the function",
				at.text);
		}
	}
}

static void follow_indirect(struct walk *walk, uint32_t index, const struct code_insn *insn)
{
	struct code *code = walk->code;
	struct code_indirect indirect = {.kind = INDIRECT_UNKNOWN};

	code->machine->indirect(&walk->view, index, &indirect);
	switch (indirect.kind) {
	case INDIRECT_TABLE:
		follow_table(walk, index, &indirect);
		break;
	case INDIRECT_UNSURE:
		code->steps.at[index].unsure = true;
		/* fallthrough */
	case INDIRECT_TAIL:
		add_exit(code, &code->steps.at[index], insn, CODE_JUMP_INDIRECT, indirect.slot);
		break;
	case INDIRECT_UNKNOWN:
		code_give_up(code, "the indirect jump at %s %s",
			     code_where(code, code->steps.at[index].address).text,
			     indirect.why ? indirect.why : "is not understood");
		break;
	}
	vec_fini(&indirect.targets);
}

static void add_call(struct code *code, uint64_t target, bool slot)
{
	*vec_push(&code->calls) = (struct code_call){.target = target, .slot = slot};
}

static void follow_call(struct code *code, const struct code_step *step,
			const struct code_insn *insn)
{
	bool next = insn->target == step->address + step->length;

	if (insn->flow == FLOW_CALL_INDIRECT) {
		code->n_indirect_calls++;
		return;
	}
	/* A call of the next instruction only reads the instruction pointer. */
	if (insn->flow == FLOW_CALL && next)
		return;
	if (insn->flow == FLOW_CALL && insn->target != code->region[0].address &&
	    inside(code, insn->target))
		code_give_up(code, "calls into its own body at %s",
			     code_where(code, step->address).text);
	add_call(code, insn->target, insn->flow == FLOW_CALL_SLOT);
}

/* Act on where step `index` leads apart from the next instruction; whether it goes on there. */
static bool follow(struct walk *walk, uint32_t index, const struct code_insn *insn)
{
	struct code *code = walk->code;
	const struct code_step *step = &code->steps.at[index];

	switch (insn->flow) {
	case FLOW_NEXT:
		return true;
	case FLOW_CALL:
	case FLOW_CALL_SLOT:
	case FLOW_CALL_INDIRECT:
		follow_call(code, step, insn);
		return true;
	case FLOW_BRANCH:
	case FLOW_BRANCH_OTHER:
		follow_jump(walk, index, insn);
		return true;
	case FLOW_JUMP:
		follow_jump(walk, index, insn);
		return false;
	case FLOW_JUMP_INDIRECT:
		follow_indirect(walk, index, insn);
		return false;
	case FLOW_RETURN:
		add_exit(code, step, insn, CODE_RETURN, 0);
		return false;
	case FLOW_STOP:
		return false;
	case FLOW_ODD:
		code_give_up(code, "leaves by a far return or the like at %s",
			     code_where(code, step->address).text);
		return false;
	}
	return false;
}

/*
 * Falling out of a region is no way on when the last instruction but padding was a call: it is
 * one that does not return.
 */
static bool after_call(const struct code *code, uint32_t index)
{
	for (; index != CODE_NONE; index = code->steps.at[index].from) {
		const struct code_step *step = &code->steps.at[index];
		size_t room = 0;
		const unsigned char *bytes = code_bytes(code, step->address, &room);
		if (step->flow == FLOW_CALL || step->flow == FLOW_CALL_SLOT ||
		    step->flow == FLOW_CALL_INDIRECT)
			return true;
		if (!bytes || step->jumped || !code->machine->padding(bytes, room))
			return false;
	}
	return false;
}

/* Enter the instruction at `place` into the map; false when it overlaps another one. */
static bool claim(struct code *code, uint64_t place, uint8_t length, uint32_t index)
{
	for (unsigned i = 1; i < length; i++) {
		if (code->map[place + i] != CODE_MAP_NOTHING)
			return false;
	}
	code->map[place] = index;
	for (unsigned i = 1; i < length; i++)
		code->map[place + i] = CODE_MAP_INSIDE;
	return true;
}

/* Decode one new instruction. The step's index, or CODE_NONE when the walk is over. */
static uint32_t add_step(struct code *code, const struct edge *edge, uint64_t place, size_t room,
			 struct code_insn *insn)
{
	const unsigned char *bytes = code_bytes(code, edge->address, &room);
	uint32_t index = (uint32_t)code->steps.n;
	struct code_where at = code_where(code, edge->address);

	if (index >= CODE_MOST_INSNS) {
		code_give_up(code, "more than %u instructions", CODE_MOST_INSNS);
		return CODE_NONE;
	}
	*insn = (struct code_insn){0};
	if (!bytes || !code->machine->decode(bytes, room, edge->address, insn)) {
		code_give_up(code, "the bytes at %s are no instruction", at.text);
		return CODE_NONE;
	}
	/* The instruction without its lock prefix was jumped to before. */
	if (code->machine->lock_prefix && *bytes == code->machine->lock_prefix &&
	    insn->length > 1 && code->map[place + 1] < CODE_MAP_INSIDE)
		*insn = (struct code_insn){.length = 1, .flow = FLOW_NEXT, .slow = true};
	if (!claim(code, place, insn->length, index)) {
		code_give_up(code, "the instruction at %s overlaps another one", at.text);
		return CODE_NONE;
	}
	*vec_push(&code->steps) = (struct code_step){
		.address = edge->address,
		.from = edge->from,
		.jumped = edge->jumped,
		.target = edge->jumped,
		.length = insn->length,
		.flow = (uint8_t)insn->flow,
	};
	return index;
}

/* Control comes to bytes that were seen before. */
static void revisit(struct code *code, const struct edge *edge, uint32_t there)
{
	uint64_t boundary = code_boundary(code, edge->address);
	size_t room;
	const unsigned char *bytes = code_bytes(code, boundary, &room);

	/* Single-threaded paths jump over a lock prefix; it is the same instruction otherwise. */
	if (there == CODE_MAP_INSIDE && code->machine->lock_prefix && bytes &&
	    *bytes == code->machine->lock_prefix && boundary + 1 == edge->address)
		return;
	if (there == CODE_MAP_INSIDE)
		code_give_up(code, "a path leads into the middle of the instruction at %s",
			     code_where(code, boundary).text);
	else if (edge->jumped)
		code->steps.at[there].target = true;
}

/* Follow one path until it ends or meets what was seen. */
static void walk_path(struct walk *walk, struct edge edge)
{
	struct code *code = walk->code;
	uint64_t place, room;
	struct code_insn insn;

	while (code->complete) {
		if (!code_place(code, edge.address, &place, &room)) {
			if (!after_call(code, edge.from))
				code_give_up(code, "runs on into the code behind it");
			return;
		}
		if (code->map[place] != CODE_MAP_NOTHING) {
			revisit(code, &edge, code->map[place]);
			return;
		}
		uint32_t index = add_step(code, &edge, place, room, &insn);
		if (index == CODE_NONE || !follow(walk, index, &insn))
			return;
		edge = (struct edge){.address = edge.address + insn.length, .from = index};
	}
}

void code_walk(struct code *code, const struct code_request *request)
{
	struct walk walk = {.code = code, .view = {.code = code, .request = request}};

	walk_path(&walk, (struct edge){.address = code->region[0].address, .from = CODE_NONE});
	for (size_t i = 0; i < request->n_entries; i++)
		*vec_push(&walk.pending) = (struct edge){
			.address = request->entries[i].address, .from = CODE_NONE, .jumped = true};
	while (walk.pending.n && code->complete)
		walk_path(&walk, walk.pending.at[--walk.pending.n]);
	vec_fini(&walk.pending);
}
