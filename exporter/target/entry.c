/* Choosing and judging the instruction that a probe stands on. */
#include "target/entry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "target/code_machine.h"

/* The start is seen late by what is passed over, so it must be short. */
#define MOST_PASSED 8

__attribute__((format(printf, 2, 3))) static void say(struct entry_site *site, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(site->why, sizeof(site->why), fmt, args);
	va_end(args);
}

static void place(const struct code *code, struct entry_site *site, uint64_t address)
{
	site->address = address;
	site->delta_bytes = address - code->region[0].address;
	site->at_site = code_classify(code, address, NULL);
	code_text(code, address, site->site_text);
}

static bool is_symbol(const struct entry_rules *rules, uint64_t address)
{
	size_t low = 0, high = rules->n_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rules->symbols[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rules->n_symbols && rules->symbols[low] == address;
}

/* `untouched`: nothing but markers and nops stands before it. */
static bool is_cheap(const struct entry_rules *rules, enum code_class class, bool untouched)
{
	switch (class) {
	case CODE_EMULATED:
		return true;
	case CODE_LONG_NOP:
		return rules->long_nops;
	case CODE_NOP5:
		return rules->nop5_is_cheap && untouched;
	case CODE_STEPPED:
	case CODE_REFUSED:
		return false;
	}
	return false;
}

/* Whether the site may move past the instruction of `step`; the reason when it may not. */
static const char *obstacle(const struct code *code, const struct entry_rules *rules,
			    const struct code_step *step, const struct code_step *next)
{
	size_t room;
	const unsigned char *bytes = code_bytes(code, step->address, &room);
	struct code_insn insn;

	if (!bytes || !code->machine->decode(bytes, room, step->address, &insn))
		return "does not decode";
	if (insn.flow != FLOW_NEXT || !next)
		return "is where the straight line ends";
	if (insn.slow)
		return "may take long";
	if (code->machine->writes(bytes, room) & rules->captured_registers)
		return "writes a register that is captured";
	if (!next->sp_known || next->sp < 0 || (next->sp != 0 && !rules->may_push))
		return "moves the stack pointer";
	if (next->target)
		return "is followed by a place that is jumped to";
	if (is_symbol(rules, next->address))
		return "is followed by another symbol";
	return NULL;
}

/* The cheap instruction to move to, or NULL; `why` then tells what is in the way. */
static const struct code_step *find_cheap(const struct code *code, const struct entry_rules *rules,
					  struct entry_site *site)
{
	const struct code_step *step = code_step_at(code, code->region[0].address), *next;
	bool untouched = true;

	if (step && step->target) {
		say(site, "no cheaper site: the function jumps back to its start");
		return NULL;
	}
	for (unsigned i = 0; step && i < MOST_PASSED; i++, step = next) {
		size_t room;
		const unsigned char *bytes = code_bytes(code, step->address, &room);
		char text[CODE_TEXT_ROOM];
		if (is_cheap(rules, code_classify(code, step->address, NULL), untouched))
			return step;
		next = code_step_at(code, step->address + step->length);
		const char *what = obstacle(code, rules, step, next);
		if (what) {
			code_text(code, step->address, text);
			say(site, "no cheaper site: \"%.60s\" %s", text, what);
			return NULL;
		}
		untouched = untouched && bytes && code->machine->idle(bytes, room);
	}
	say(site, "no cheaper site among the first %d instructions", MOST_PASSED);
	return NULL;
}

static void judge_start(const struct code *code, struct entry_site *site)
{
	const struct code_step *step = code_step_at(code, site->address);
	const char *why = NULL;

	if (code_classify(code, site->address, &why) == CODE_REFUSED)
		say(site, "the kernel takes no probe at \"%.60s\": %s", site->site_text, why);
	else if (step && step->target) {
		site->is_loop_head = true;
		say(site, "the function jumps back to \"%.60s\", so that every round would count",
		    site->site_text);
	}
}

void entry_choose(const struct code *code, const struct entry_rules *rules, struct entry_site *site)
{
	const struct code_step *cheap = NULL;

	*site = (struct entry_site){.at_start = CODE_REFUSED, .at_site = CODE_REFUSED};
	if (!code->machine || !code->n_regions) {
		say(site, "%.150s", code->why);
		return;
	}
	place(code, site, code->region[0].address);
	site->at_start = site->at_site;
	code_text(code, site->address, site->start_text);
	if (!code->complete) {
		say(site, "at the start, as not all of the function is understood: %.90s",
		    code->why);
	} else {
		cheap = find_cheap(code, rules, site);
	}
	if (cheap && cheap->address != site->address) {
		place(code, site, cheap->address);
		site->pushed_bytes = (uint32_t)cheap->sp;
		say(site, "moved past \"%.40s\" to a cheaper instruction", site->start_text);
	} else if (cheap) {
		say(site, "the first instruction is cheap");
	}
	if (!site->delta_bytes)
		judge_start(code, site);
}

int entry_check(const struct code *code, uint64_t address, struct entry_site *site)
{
	const char *why = NULL;
	uint64_t boundary;

	*site = (struct entry_site){.at_start = CODE_REFUSED, .at_site = CODE_REFUSED};
	if (!code->n_regions) {
		say(site, "%.150s", code->why);
		return -EINVAL;
	}
	boundary = code_boundary(code, address);
	place(code, site, address);
	if (boundary && boundary != address) {
		code_text(code, boundary, site->site_text);
		say(site, "%s is inside the instruction at %s (\"%.60s\")",
		    code_where(code, address).text, code_where(code, boundary).text,
		    site->site_text);
		return -EINVAL;
	}
	if (!boundary) {
		say(site, "no instruction is known to begin at %s", code_where(code, address).text);
		return -EINVAL;
	}
	if (code_classify(code, address, &why) == CODE_REFUSED) {
		say(site, "the kernel takes no probe at \"%.60s\": %s", site->site_text, why);
		return -EINVAL;
	}
	if (site->at_site == CODE_NOP5 && address != code->region[0].address) {
		say(site, "a five-byte nop inside a function: newer kernels replace it by a call, "
			  "which overwrites what the function keeps below its stack pointer");
		return -EINVAL;
	}
	return 0;
}
