/* The walk over x86-64 code, on bytes: exits, calls, parts, and everything that is refused. */
#include "tests/unit/target/decoded.h"

unsigned char data[DATA_ROOM];
size_t data_size;

static void test_straight_line(void **state)
{
	struct code code = X86(0x31, 0xc0, 0xc3); /* xor %eax,%eax; ret */

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.steps.n, 2);
	assert_int_equal(code.exits.n, 1);
	assert_exit(&code, 0, 2, CODE_RETURN, 0);
	assert_true(code.exits.at[0].depth_known);
	assert_int_equal(code.exits.at[0].depth, 0);
	code_free(&code);
}

static void test_return_forms(void **state)
{
	static const struct {
		unsigned char bytes[4];
		size_t size;
	} forms[] = {{{0xc3}, 1}, {{0xc2, 8, 0}, 3}, {{0xf3, 0xc3}, 2}, {{0xf2, 0xc3}, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct code code = decode_parts(EM_X86_64, forms[i].bytes, forms[i].size, NULL, 0);
		assert_complete(&code);
		assert_int_equal(code.exits.n, 1);
		assert_exit(&code, 0, 0, CODE_RETURN, 0);
		assert_int_equal(code.exits.at[0].length, forms[i].size);
		assert_int_equal(code.exits.at[0].class, CODE_STEPPED);
		code_free(&code);
	}
}

static void test_odd_returns_are_refused(void **state)
{
	static const unsigned char forms[][2] = {{0xcb, 0xcc}, {0x48, 0xcf}, {0x0f, 0x07}};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct code code = decode_parts(EM_X86_64, forms[i], 2, NULL, 0);
		assert_incomplete(&code, "far return");
		code_free(&code);
	}
}

static void test_direct_tail_call(void **state)
{
	struct code code = X86(0xe9, 0xfb, 0x0f, 0, 0); /* jmp BASE+0x1000 */

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	assert_exit(&code, 0, 0, CODE_JUMP, BASE + 0x1000);
	assert_int_equal(code.exits.at[0].class, CODE_EMULATED);
	code_free(&code);
}

/* test %edi,%edi; je BASE+0x1000 (long and short form of the condition); ret */
static void test_conditional_exit_tells_its_condition(void **state)
{
	struct code code = X86(0x85, 0xff, 0x0f, 0x84, 0xf8, 0x0f, 0, 0, 0x7f, 0x40, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 3);
	assert_exit(&code, 0, 2, CODE_JUMP_IF, BASE + 0x1000);
	assert_int_equal(code.exits.at[0].condition, 0x4);
	assert_exit(&code, 1, 8, CODE_JUMP_IF, BASE + 10 + 0x40);
	assert_int_equal(code.exits.at[1].condition, 0xf);
	assert_exit(&code, 2, 10, CODE_RETURN, 0);
	code_free(&code);
}

static void test_jrcxz_and_loop_inside_are_followed_outside_refused(void **state)
{
	static const unsigned char opcodes[] = {0xe0, 0xe1, 0xe2, 0xe3};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		/* jrcxz 1f; nop; 1: ret */
		struct code code = X86(opcodes[i], 1, 0x90, 0xc3);
		assert_complete(&code);
		assert_int_equal(code.exits.n, 1);
		assert_true(code_step_at(&code, BASE + 3)->target);
		code_free(&code);
		code = X86(opcodes[i], 0x70, 0x90, 0xc3);
		assert_incomplete(&code, "not in the flags");
		code_free(&code);
	}
}

static void test_branches_inside_are_targets(void **state)
{
	/* 0: test; 2: je 7; 4: inc %eax; 6: ret; 7: xor; 9: jmp 4 */
	struct code code = X86(0x85, 0xff, 0x74, 3, 0xff, 0xc0, 0xc3, 0x31, 0xc0, 0xeb, 0xf9);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	assert_exit(&code, 0, 6, CODE_RETURN, 0);
	assert_true(code_step_at(&code, BASE + 7)->target);
	assert_true(code_step_at(&code, BASE + 4)->target);
	assert_false(code_step_at(&code, BASE + 2)->target);
	code_free(&code);
}

static void test_cold_part_is_followed(void **state)
{
	/* push %rbx; test; jne PART; pop %rbx; ret */
	static const unsigned char body[] = {0x53, 0x85, 0xff, 0x0f, 0x85, 0xf7,
					     0x7f, 0,	 0,    0x5b, 0xc3};
	/* PART: pop %rbx; ret */
	static const unsigned char part[] = {0x5b, 0xc3};
	struct code code = decode_parts(EM_X86_64, body, sizeof(body), part, sizeof(part));

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 2);
	assert_exit(&code, 0, 10, CODE_RETURN, 0);
	assert_int_equal(code.exits.at[1].address, PART + 1);
	code_free(&code);

	/* Without the part it is a jump out with the caller's register on the stack. */
	code = decode_parts(EM_X86_64, body, sizeof(body), NULL, 0);
	assert_incomplete(&code, "with 8 bytes on the stack");
	assert_int_equal(code.strays.n, 1);
	assert_int_equal(code.strays.at[0], PART);
	code_free(&code);
}

static void test_calls_are_listed_once(void **state)
{
	/* call X; call X; call *8(%rip); call *%rax; call *(%rbx); ret */
	struct code code = X86(0xe8, 0xfb, 0x0f, 0, 0, 0xe8, 0xf6, 0x0f, 0, 0, 0xff, 0x15, 8, 0, 0,
			       0, 0xff, 0xd0, 0xff, 0x13, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.calls.n, 2);
	assert_int_equal(code.calls.at[0].target, BASE + 0x10 + 8);
	assert_true(code.calls.at[0].slot);
	assert_int_equal(code.calls.at[1].target, BASE + 0x1000);
	assert_false(code.calls.at[1].slot);
	assert_int_equal(code.n_indirect_calls, 2);
	code_free(&code);
}

static void test_call_that_does_not_return_ends_the_body(void **state)
{
	struct code code = X86(0xe8, 0xfb, 0x0f, 0, 0, 0x66, 0x90); /* call X; xchg %ax,%ax */

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 0);
	code_free(&code);
}

static void test_call_into_own_body_is_refused(void **state)
{
	struct code code = X86(0xe8, 1, 0, 0, 0, 0xc3, 0xc3);

	(void)state;
	assert_incomplete(&code, "own body");
	code_free(&code);
	code = X86(0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3); /* recursion is none of that */
	assert_complete(&code);
	code_free(&code);
	code = X86(0xe8, 0, 0, 0, 0, 0x58, 0xc3); /* call 1f; 1: pop %rax; ret */
	assert_complete(&code);
	assert_int_equal(code.calls.n, 0);
	code_free(&code);
}

static void test_traps_end_a_path(void **state)
{
	static const unsigned char traps[][2] = {{0x0f, 0x0b}, {0xf4, 0xcc}, {0xcc, 0xcc}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct code code = decode_parts(EM_X86_64, traps[i], 2, NULL, 0);
		assert_complete(&code);
		assert_int_equal(code.exits.n, 0);
		code_free(&code);
	}
}

static void test_what_cannot_be_followed(void **state)
{
	static const struct {
		unsigned char bytes[12];
		size_t size;
		const char *why;
	} cases[] = {
		{{0x06}, 1, "no instruction"},	     /* invalid in 64-bit mode */
		{{0xe8, 1, 2}, 3, "no instruction"}, /* cut off by the end */
		{{0x31, 0xc0}, 2, "runs on into"},   /* xor, and no end */
		{{0x74, 1, 0xb8, 0x90, 0, 0, 0, 0xc3}, 8, "middle of the instruction"},
		{{0xc3, 0x31, 0xc0, 0xc3}, 4, "3 bytes from +0x1"},   /* code behind the ret */
		{{0x53, 0xc3}, 2, "with 8 bytes on the stack"},	      /* push %rbx; ret */
		{{0x53, 0xff, 0xe0}, 3, "with 8 bytes on the stack"}, /* push; jmp *%rax */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code = decode_parts(EM_X86_64, cases[i].bytes, cases[i].size, NULL, 0);
		assert_incomplete(&code, cases[i].why);
		code_free(&code);
	}
}

/* The path that is walked first ends in the bytes of an instruction that the other path meets. */
static void test_overlap_is_refused(void **state)
{
	/* 0: je 5; 2: jmp 6; 5: b8 c3 0 0 0 (mov) with 6: ret inside */
	struct code code = X86(0x74, 3, 0xeb, 2, 0xcc, 0xb8, 0xc3, 0, 0, 0, 0xc3);

	(void)state;
	assert_incomplete(&code, "overlaps another one");
	code_free(&code);
}

static void test_jump_over_a_lock_prefix(void **state)
{
	/* je 3f; lock; 3: cmpxchg %ecx,(%rdx); ret */
	struct code code = X86(0x74, 1, 0xf0, 0x0f, 0xb1, 0x0a, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	code_free(&code);
	/* je 4; jmp 5; 4: lock; 5: cmpxchg; ret: the bare instruction is met first */
	code = X86(0x74, 2, 0xeb, 1, 0xf0, 0x0f, 0xb1, 0x0a, 0xc3);
	assert_complete(&code);
	assert_int_equal(code_boundary(&code, BASE + 4), BASE + 4);
	assert_int_equal(code.exits.n, 1);
	code_free(&code);
}

static void test_padding_is_no_code(void **state)
{
	struct code code = X86(0xeb, 4, 0x66, 0x90, 0xcc, 0, 0xc3);

	(void)state;
	assert_complete(&code);
	code_free(&code);
}

static void test_stack_depth(void **state)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $0x18,%rsp; test; je 1f; lea -8(%rbp),%rsp;
	   pop %rbx; pop %rbp; ret; 1: mov -8(%rbp),%rbx; leave; ret */
	struct code code =
		X86(0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x74, 7, 0x48,
		    0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code_step_at(&code, BASE + 9)->sp, 8 + 8 + 0x18);
	assert_int_equal(code.exits.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(code.exits.at[i].depth_known);
		assert_int_equal(code.exits.at[i].depth, 0);
	}
	code_free(&code);
}

static void test_unknown_stack_depth_is_told(void **state)
{
	/* mov (%rsi),%rsp; ret: on another stack */
	struct code code = X86(0x48, 0x8b, 0x26, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_false(code.exits.at[0].depth_known);
	code_free(&code);
	/* and $-32,%rsp; push %rax; ret: a jump */
	code = X86(0x48, 0x83, 0xe4, 0xe0, 0x50, 0xc3);
	assert_complete(&code);
	assert_false(code.exits.at[0].depth_known);
	code_free(&code);
	/* and $-32,%rsp; mov %rax,(%rsp); ret: another one */
	code = X86(0x48, 0x83, 0xe4, 0xe0, 0x48, 0x89, 0x04, 0x24, 0xc3);
	assert_complete(&code);
	assert_false(code.exits.at[0].depth_known);
	code_free(&code);
	/* and $-32,%rsp; mov $…,%rax by arithmetic; jmp *%rax: cannot be told from a table */
	code = X86(0x48, 0x83, 0xe4, 0xe0, 0x48, 0x01, 0xc8, 0xff, 0xe0);
	assert_incomplete(&code, "not understood");
	code_free(&code);
}

/* lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; call;
 * mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret: gcc's aligned frame */
static void test_a_return_has_the_stack_of_the_entry(void **state)
{
	struct code code = X86(0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff,
			       0x72, 0xf8, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x52, 0xe8, 0x5f, 0, 0, 0,
			       0x4c, 0x8b, 0x55, 0xf8, 0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	assert_true(code.exits.at[0].depth_known);
	assert_int_equal(code.exits.at[0].depth, 0);
	code_free(&code);
}

/* A call that does not return stands before code of another depth. */
static void test_depth_is_not_confused_by_calls_that_do_not_return(void **state)
{
	/* push %rbx; test; je 1f; push %rbx; call X; 1: pop %rbx; ret */
	struct code code = X86(0x53, 0x85, 0xff, 0x74, 6, 0x53, 0xe8, 0, 0x10, 0, 0, 0x5b, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_true(code.exits.at[0].depth_known);
	code_free(&code);
}

static void test_boundaries(void **state)
{
	struct code code = X86(0xb8, 1, 0, 0, 0, 0xc3, 0x90);

	(void)state;
	assert_int_equal(code_boundary(&code, BASE), BASE);
	assert_int_equal(code_boundary(&code, BASE + 4), BASE);
	assert_int_equal(code_boundary(&code, BASE + 5), BASE + 5);
	assert_int_equal(code_boundary(&code, BASE + 6), 0);
	assert_int_equal(code_boundary(&code, BASE + 7), 0);
	code_free(&code);
}

static void test_entries_are_walked(void **state)
{
	static const unsigned char body[] = {0xc3, 0x31, 0xc0, 0xc3};
	static const struct code_region region = {BASE, sizeof(body), body};
	static const struct code_entry entry = {.address = BASE + 1};
	const struct code_request request = {EM_X86_64, &region, 1, &entry, 1, NULL, NULL};
	struct code code;

	(void)state;
	code_decode(&code, &request);
	assert_complete(&code);
	assert_int_equal(code.exits.n, 2);
	assert_true(code.exits.at[0].depth_known);
	assert_true(code.exits.at[1].depth_known);
	code_free(&code);
}

static void test_bad_requests(void **state)
{
	static const unsigned char body[] = {0xc3};
	const struct code_region regions[] = {
		{BASE, 1, body}, {BASE, 1, body}, {UINT64_MAX, 1, body}};
	static const struct code_region empty = {BASE, 0, body},
					large = {BASE, CODE_MOST_BYTES + 1, body};
	const struct {
		struct code_request request;
		const char *why;
	} cases[] = {
		{{EM_X86_64, regions, 0, NULL, 0, NULL, NULL}, "parts"},
		{{EM_X86_64, regions, CODE_MOST_REGIONS + 1, NULL, 0, NULL, NULL}, "parts"},
		{{EM_X86_64, regions, 2, NULL, 0, NULL, NULL}, "overlap"},
		{{EM_X86_64, &empty, 1, NULL, 0, NULL, NULL}, "empty"},
		{{EM_X86_64, &large, 1, NULL, 0, NULL, NULL}, "larger"},
		{{EM_X86_64, regions + 2, 1, NULL, 0, NULL, NULL}, "larger"},
		{{EM_S390, regions, 1, NULL, 0, NULL, NULL}, "machine"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code;
		code_decode(&code, &cases[i].request);
		assert_incomplete(&code, cases[i].why);
		assert_null(code_step_at(&code, BASE));
		assert_int_equal(code_boundary(&code, BASE), 0);
		assert_int_equal(code.exits.n, 0);
		code_free(&code);
	}
}

static void test_too_many_instructions(void **state)
{
	static unsigned char body[CODE_MOST_INSNS + 2];

	(void)state;
	memset(body, 0x90, sizeof(body));
	body[sizeof(body) - 1] = 0xc3;
	struct code code = decode_parts(EM_X86_64, body, sizeof(body), NULL, 0);
	assert_incomplete(&code, "more than 200000 instructions");
	code_free(&code);
}

static void test_text(void **state)
{
	struct code code = X86(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x06);
	char text[CODE_TEXT_ROOM];

	(void)state;
	code_text(&code, BASE, text);
	assert_string_equal(text, "endbr64");
	code_text(&code, BASE + 4, text);
	assert_string_equal(text, "push %rbp");
	code_text(&code, BASE + 5, text);
	assert_string_equal(text, "(bad)");
	code_text(&code, BASE + 6, text);
	assert_string_equal(text, "(bad)");
	code_free(&code);
}

/* Padding between a call that does not return and code of another path joins nothing. */
static void padding_behind_a_call_leads_nowhere(void **state)
{
	struct code code = X86(0x85, 0xff, 0x74, 0x09, 0x50, 0xe8, 0x00, 0x01, 0x00, 0x00, 0x0f,
			       0x1f, 0x00, 0xc3);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	assert_true(code.exits.at[0].depth_known);
	assert_int_equal(code.exits.at[0].depth, 0);
	code_free(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(padding_behind_a_call_leads_nowhere),
		cmocka_unit_test(test_straight_line),
		cmocka_unit_test(test_return_forms),
		cmocka_unit_test(test_odd_returns_are_refused),
		cmocka_unit_test(test_direct_tail_call),
		cmocka_unit_test(test_conditional_exit_tells_its_condition),
		cmocka_unit_test(test_jrcxz_and_loop_inside_are_followed_outside_refused),
		cmocka_unit_test(test_branches_inside_are_targets),
		cmocka_unit_test(test_cold_part_is_followed),
		cmocka_unit_test(test_calls_are_listed_once),
		cmocka_unit_test(test_call_that_does_not_return_ends_the_body),
		cmocka_unit_test(test_call_into_own_body_is_refused),
		cmocka_unit_test(test_traps_end_a_path),
		cmocka_unit_test(test_what_cannot_be_followed),
		cmocka_unit_test(test_overlap_is_refused),
		cmocka_unit_test(test_jump_over_a_lock_prefix),
		cmocka_unit_test(test_padding_is_no_code),
		cmocka_unit_test(test_stack_depth),
		cmocka_unit_test(test_unknown_stack_depth_is_told),
		cmocka_unit_test(test_a_return_has_the_stack_of_the_entry),
		cmocka_unit_test(test_depth_is_not_confused_by_calls_that_do_not_return),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_entries_are_walked),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_too_many_instructions),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
