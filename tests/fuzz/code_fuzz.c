/*
 * Any bytes as a function: never a crash, a leak or a hang, and an answer that keeps the promises
 * of target/code.h, code_return.h, code_stack.h and entry.h. The first byte chooses the machine and
 * the layout, the second how many bytes at the end are data that tables are read from.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/code_return.h"
#include "target/code_stack.h"
#include "target/entry.h"

#define BASE UINT64_C(0x1000)
#define PART UINT64_C(0x8000)
#define DATA UINT64_C(0x20000)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct tables {
	const uint8_t *bytes;
	size_t size;
};

static void promise(int kept)
{
	if (!kept)
		abort();
}

static int read_table(void *context, uint64_t address, void *bytes, size_t length)
{
	const struct tables *tables = context;
	uint64_t at = address - DATA;

	if (at > tables->size || length > tables->size - at)
		return -1;
	memcpy(bytes, tables->bytes + at, length);
	return 0;
}

static void check_exits(const struct code *code)
{
	for (size_t i = 0; i < code->exits.n; i++) {
		const struct code_exit *exit = &code->exits.at[i];
		const struct code_step *step = code_step_at(code, exit->address);
		promise(step && step->length == exit->length);
		promise(code_boundary(code, exit->address) == exit->address);
		promise(i == 0 || code->exits.at[i - 1].address < exit->address);
		promise(!code->complete || exit->depth == 0);
		promise(exit->kind != CODE_JUMP_IF || exit->condition < 16);
		if (code->complete && (exit->kind == CODE_JUMP || exit->kind == CODE_JUMP_IF))
			promise(!code_step_at(code, exit->target));
	}
	for (size_t i = 1; i < code->calls.n; i++)
		promise(code->calls.at[i - 1].target <= code->calls.at[i].target);
}

static void check_entry(const struct code *code, unsigned flags)
{
	const uint64_t symbols[] = {BASE, BASE + 6};
	const struct entry_rules rules = {
		.may_push = flags & 1,
		.long_nops = flags & 2,
		.nop5_is_cheap = flags & 4,
		.captured_registers = 1u << 7,
		.symbols = symbols,
		.n_symbols = 2,
	};
	struct entry_site site;

	entry_choose(code, &rules, &site);
	promise(*site.why);
	if (site.delta_bytes) {
		const struct code_step *step = code_step_at(code, site.address);
		promise(code->complete && step && !step->target && site.at_site != CODE_REFUSED);
		promise(site.address != BASE + 6 && (rules.may_push || site.pushed_bytes == 0));
	}
	for (uint64_t at = 0; at < 32; at++) {
		if (entry_check(code, BASE + at, &site) == 0)
			promise(code_boundary(code, BASE + at) == BASE + at);
		else
			promise(*site.why);
	}
}

static void check_stack(const struct code *code, uint16_t machine, const uint8_t *bytes,
			size_t size)
{
	uint64_t at;

	if (code_stack_is_switched(code, false, &at))
		promise(code_step_at(code, at) != NULL);
	if (code_return_is_used(code, &at))
		promise(code_step_at(code, at) != NULL);
	code_return_is_unlikely(code);
	for (size_t next, from = 0; from < size; from = next + 1) {
		next = code_stack_find(machine, bytes, from, size);
		promise(next >= from && next <= size);
		if (next < size)
			code_stack_is_boundary(machine, bytes, size, next);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct code_region regions[2];
	struct code_entry entry = {0};
	struct tables tables;
	struct code code;

	if (size < 4)
		return 0;
	unsigned flags = bytes[0];
	size_t n_data = bytes[1] < size - 3 ? bytes[1] : 0, n_part = 0;
	size -= 2 + n_data;
	bytes += 2;
	tables = (struct tables){bytes + size, n_data};
	if (flags & 0x20)
		n_part = size / 3;
	regions[0] = (struct code_region){BASE, size - n_part, bytes};
	regions[1] = (struct code_region){PART, n_part, bytes + size - n_part};
	entry = (struct code_entry){BASE + (flags & 7) * 3, BASE, size};
	const struct code_request request = {
		.machine = flags & 0x80 ? EM_AARCH64 : EM_X86_64,
		.regions = regions,
		.n_regions = n_part ? 2 : 1,
		.entries = &entry,
		.n_entries = flags & 0x40 ? 1 : 0,
		.read = read_table,
		.context = &tables,
	};
	code_decode(&code, &request);
	promise(code.complete == !*code.why);
	check_exits(&code);
	check_entry(&code, flags);
	check_stack(&code, request.machine, regions[0].bytes, regions[0].size);
	code_free(&code);
	return 0;
}
