/*
 * How deep the stack is at each instruction. Frames flow along the edges until nothing changes;
 * where paths with different depths meet, the depth is not known.
 *
 * Behind a call that does not return the text goes on with code that belongs to another path, so
 * the edge from a call to an instruction that is also jumped to counts only when no other path
 * gets there.
 */
#include "target/code_machine.h"

#define MOST_SEARCHED 1024 /* bytes of a call site's range: it holds few instructions */
#define MOST_ROUNDS   4	   /* exceptions thrown from where exceptions land */

struct frames {
	struct code *code;
	VEC(uint32_t) pending; /* steps whose frame has changed */
	VEC(uint32_t) behind;  /* steps behind calls and jumped to, held back */
};

static struct code_frame frame_of(const struct code_step *step)
{
	return (struct code_frame){step->sp, step->bp, step->sp_known, step->bp_known};
}

static void merge(struct frames *frames, uint32_t index, const struct code_frame *frame)
{
	struct code_step *step = &frames->code->steps.at[index];
	bool sp = frame->sp_known, bp = frame->bp_known;

	if (step->seen) {
		sp = sp && step->sp_known && step->sp == frame->sp;
		bp = bp && step->bp_known && step->bp == frame->bp;
		if (sp == step->sp_known && bp == step->bp_known)
			return;
	}
	step->seen = true;
	step->sp_known = sp;
	step->bp_known = bp;
	step->sp = sp ? frame->sp : 0;
	step->bp = bp ? frame->bp : 0;
	*vec_push(&frames->pending) = index;
}

/* The frame goes to the step at `address`, if one is there. */
static void reach(struct frames *frames, uint64_t address, const struct code_frame *frame)
{
	const struct code_step *step = code_step_at(frames->code, address);

	if (step)
		merge(frames, (uint32_t)(step - frames->code->steps.at), frame);
}

static bool is_call(const struct code_step *step)
{
	return step->flow == FLOW_CALL || step->flow == FLOW_CALL_SLOT ||
	       step->flow == FLOW_CALL_INDIRECT;
}

static bool goes_on(const struct code_step *step)
{
	return step->flow == FLOW_NEXT || step->flow == FLOW_BRANCH ||
	       step->flow == FLOW_BRANCH_OTHER || is_call(step);
}

static struct code_frame frame_behind(const struct code *code, const struct code_step *step)
{
	struct code_frame frame = frame_of(step);
	size_t room;
	const unsigned char *bytes = code_bytes(code, step->address, &room);

	if (bytes)
		code->machine->track(bytes, room, step->address, &frame);
	return frame;
}

/* The first step behind a call that is more than padding, or NULL. */
static const struct code_step *behind_call(const struct code *code, const struct code_step *call)
{
	const struct code_step *step = code_step_at(code, call->address + call->length);

	while (step && !step->target) {
		size_t room;
		const unsigned char *bytes = code_bytes(code, step->address, &room);
		if (!bytes || !code->machine->padding(bytes, room))
			break;
		step = code_step_at(code, step->address + step->length);
	}
	return step;
}

static void propagate(struct frames *frames, uint32_t index)
{
	const struct code *code = frames->code;
	const struct code_step *step = &code->steps.at[index];
	struct code_frame frame = frame_behind(code, step);
	const struct code_step *next = code_step_at(code, step->address + step->length);

	for (uint32_t i = 0; i < step->n_edges; i++)
		reach(frames, code->edges.at[step->first_edge + i], &frame);
	if (!goes_on(step) || !next)
		return;
	const struct code_step *behind = is_call(step) ? behind_call(code, step) : NULL;
	if (behind && behind->target)
		*vec_push(&frames->behind) = index;
	else
		reach(frames, next->address, &frame);
}

static void drain(struct frames *frames)
{
	while (frames->pending.n)
		propagate(frames, frames->pending.at[--frames->pending.n]);
}

/* Go on behind a held-back call if nothing else has led there. */
static void release(struct frames *frames, uint32_t index)
{
	const struct code *code = frames->code;
	const struct code_step *step = &code->steps.at[index];
	const struct code_step *next = code_step_at(code, step->address + step->length);
	const struct code_step *behind = behind_call(code, step);
	struct code_frame frame = frame_behind(code, step);

	if (next && behind && !behind->seen)
		reach(frames, next->address, &frame);
}

static void release_all(struct frames *frames)
{
	for (size_t i = 0; i < frames->behind.n; i++) {
		release(frames, frames->behind.at[i]);
		drain(frames);
	}
	frames->behind.n = 0;
}

/* The first call in an entry's range whose stack is known, or NULL. */
static const struct code_step *find_call(const struct code *code, const struct code_entry *entry)
{
	uint64_t size = entry->site_size < MOST_SEARCHED ? entry->site_size : MOST_SEARCHED;

	for (uint64_t at = 0; at < size; at++) {
		const struct code_step *step = code_step_at(code, entry->site + at);
		if (step && is_call(step) && step->seen && step->sp_known)
			return step;
	}
	return NULL;
}

/* Exceptions come with the frame of the call that threw; pads may throw again. */
static void enter_pads(struct frames *frames, const struct code_request *request)
{
	static const struct code_frame unknown = {0};
	const struct code *code = frames->code;

	for (unsigned round = 0; round < MOST_ROUNDS; round++) {
		for (size_t i = 0; i < request->n_entries; i++) {
			const struct code_entry *entry = &request->entries[i];
			const struct code_step *pad = code_step_at(code, entry->address);
			const struct code_step *call =
				pad && !pad->seen ? find_call(code, entry) : NULL;
			if (!call)
				continue;
			struct code_frame frame = frame_of(call);
			reach(frames, entry->address, &frame);
			drain(frames);
		}
	}
	for (size_t i = 0; i < request->n_entries; i++) {
		const struct code_step *pad = code_step_at(code, request->entries[i].address);
		if (pad && !pad->seen)
			reach(frames, pad->address, &unknown);
	}
}

void code_frame_fill(struct code *code, const struct code_request *request)
{
	static const struct code_frame entry = {.sp_known = true};
	struct frames frames = {.code = code};

	reach(&frames, code->region[0].address, &entry);
	drain(&frames);
	release_all(&frames);
	enter_pads(&frames, request);
	drain(&frames);
	release_all(&frames);
	vec_fini(&frames.pending);
	vec_fini(&frames.behind);
}
