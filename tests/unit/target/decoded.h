/* For the tests of code.h: a function given as bytes, with parts and data beside it. */
#ifndef TESTS_UNIT_TARGET_DECODED_H
#define TESTS_UNIT_TARGET_DECODED_H

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/code.h"

#define BASE	  UINT64_C(0x1000)
#define PART	  UINT64_C(0x9000)
#define DATA	  UINT64_C(0x20000)
#define DATA_ROOM 256

/* The data that tables are read from. */
extern unsigned char data[DATA_ROOM];
extern size_t data_size;

static inline int read_data(void *context, uint64_t address, void *bytes, size_t length)
{
	(void)context;
	if (address < DATA || address - DATA > data_size || length > data_size - (address - DATA))
		return -1;
	memcpy(bytes, data + (address - DATA), length);
	return 0;
}

/* Decode `size` bytes at BASE, and `part_size` bytes (may be 0) at PART. */
static inline struct code decode_parts(uint16_t machine, const void *bytes, size_t size,
				       const void *part, size_t part_size)
{
	const struct code_region regions[] = {{BASE, size, bytes}, {PART, part_size, part}};
	const struct code_request request = {
		.machine = machine,
		.regions = regions,
		.n_regions = part_size ? 2 : 1,
		.read = read_data,
	};
	struct code code;

	code_decode(&code, &request);
	return code;
}

#define BYTES(...)                                                                                 \
	((const unsigned char[]){__VA_ARGS__}), sizeof((const unsigned char[]){__VA_ARGS__})
#define X86(...) decode_parts(EM_X86_64, BYTES(__VA_ARGS__), NULL, 0)

static inline void assert_complete(const struct code *code)
{
	if (!code->complete)
		fail_msg("incomplete: %s", code->why);
}

static inline void assert_incomplete(const struct code *code, const char *part_of_why)
{
	assert_false(code->complete);
	if (!strstr(code->why, part_of_why))
		fail_msg("\"%s\" does not say \"%s\"", code->why, part_of_why);
}

static inline void assert_exit(const struct code *code, size_t i, uint64_t offset,
			       enum code_exit_kind kind, uint64_t target)
{
	assert_true(i < code->exits.n);
	assert_int_equal(code->exits.at[i].address, BASE + offset);
	assert_int_equal(code->exits.at[i].kind, kind);
	assert_int_equal(code->exits.at[i].target, target);
}

#endif
