/* Indirect jumps: the forms of jump tables that compilers make, and tail calls. */
#include "tests/unit/target/decoded.h"

unsigned char data[DATA_ROOM];
size_t data_size;

static void put_offsets(const int32_t *offsets, size_t n)
{
	memcpy(data, offsets, n * sizeof(*offsets));
	data_size = n * sizeof(*offsets);
}

static void put_addresses(const uint64_t *addresses, size_t n)
{
	memcpy(data, addresses, n * sizeof(*addresses));
	data_size = n * sizeof(*addresses);
}

/* A 4-byte displacement, low byte first. */
#define D32(v) (unsigned char)(v), (unsigned char)((v) >> 8), (unsigned char)((v) >> 16), 0
/* lea DATA(%rip),%rdx at `offset` */
#define LEA_DATA(offset) 0x48, 0x8d, 0x15, D32(DATA - BASE - (offset)-7)

#define CASES		 0x1b /* where the three cases of the switch begin */
/* cmp $2,%edi; ja end; lea; movslq (%rdx,%rdi,4),%rax; add %rdx,%rax; notrack jmp *%rax */
#define SWITCH(bound, jump)                                                                        \
	X86(0x83, 0xff, bound, jump, 0x1c, LEA_DATA(5), 0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0,  \
	    0x3e, 0xff, 0xe0, 0x66, 0x90, 0x90, 0x90, 0x90, /* 1b: */ 0x90, 0xc3, 0x40, 0xc3,      \
	    0xb0, 1, 0xc3)

static void put_switch(void)
{
	const int64_t to_cases = (int64_t)(BASE + CASES) - (int64_t)DATA;

	put_offsets((int32_t[]){(int32_t)to_cases, (int32_t)to_cases + 4, (int32_t)to_cases + 4,
				0x7fff},
		    4);
}

static void test_offsets_with_a_bound(void **state)
{
	(void)state;
	put_switch();
	/* ja (0x77) falls through below; the end is the last case's ret */
	struct code code = SWITCH(2, 0x77);
	assert_incomplete(&code, "2 bytes"); /* the middle case is in no table entry */
	code_free(&code);
	put_offsets((int32_t[]){(int32_t)(BASE + CASES - DATA), (int32_t)(BASE + CASES + 2 - DATA),
				(int32_t)(BASE + CASES + 4 - DATA)},
		    3);
	code = SWITCH(2, 0x77);
	assert_complete(&code);
	assert_int_equal(code.n_tables, 1);
	assert_int_equal(code.exits.n, 3);
	assert_true(code_step_at(&code, BASE + CASES + 2)->target);
	code_free(&code);
}

static void test_offsets_without_a_bound_end_where_they_leave(void **state)
{
	(void)state;
	put_offsets((int32_t[]){(int32_t)(BASE + CASES - DATA), (int32_t)(BASE + CASES + 2 - DATA),
				(int32_t)(BASE + CASES + 4 - DATA), 0x7fff},
		    4);
	struct code code = SWITCH(2, 0x74); /* je says nothing of the size */
	assert_complete(&code);
	assert_int_equal(code.exits.n, 3);
	code_free(&code);
}

static void test_table_that_leaves_the_function(void **state)
{
	(void)state;
	put_offsets((int32_t[]){(int32_t)(BASE + CASES - DATA), 0x7fff,
				(int32_t)(BASE + CASES + 4 - DATA)},
		    3);
	struct code code = SWITCH(2, 0x77);
	assert_incomplete(&code, "leads out of the function");
	assert_int_equal(code.strays.n, 1);
	assert_int_equal(code.strays.at[0], DATA + 0x7fff);
	code_free(&code);
}

static void test_table_that_cannot_be_read(void **state)
{
	(void)state;
	data_size = 8;
	struct code code = SWITCH(2, 0x77);
	assert_incomplete(&code, "cannot be read");
	code_free(&code);
	data_size = 0;
	code = SWITCH(2, 0x74);
	assert_incomplete(&code, "cannot be read");
	code_free(&code);
}

/* and $1,%edi; jmp *DATA(,%rdi,8); ret; ret */
static void test_addresses_with_a_mask(void **state)
{
	(void)state;
	put_addresses((uint64_t[]){BASE + 10, BASE + 11, BASE + 1}, 3);
	struct code code = X86(0x83, 0xe7, 1, 0xff, 0x24, 0xfd, D32(DATA), 0xc3, 0xc3);
	assert_complete(&code);
	assert_int_equal(code.n_tables, 1);
	assert_int_equal(code.exits.n, 2);
	code_free(&code);
}

/* The same through a register: mov DATA(,%rdi,8),%rax; jmp *%rax */
static void test_addresses_through_a_register(void **state)
{
	(void)state;
	put_addresses((uint64_t[]){BASE + 13, BASE + 14}, 2);
	struct code code =
		X86(0x83, 0xe7, 1, 0x48, 0x8b, 0x04, 0xfd, D32(DATA), 0xff, 0xe0, 0xc3, 0xc3);
	assert_complete(&code);
	assert_int_equal(code.n_tables, 1);
	assert_int_equal(code.exits.n, 2);
	code_free(&code);
}

static void test_array_of_functions_is_a_tail_call(void **state)
{
	(void)state;
	put_addresses((uint64_t[]){0x5000, 0x6000}, 2);
	struct code code = X86(0x83, 0xe7, 1, 0xff, 0x24, 0xfd, D32(DATA));
	assert_complete(&code);
	assert_int_equal(code.n_tables, 0);
	assert_exit(&code, 0, 3, CODE_JUMP_INDIRECT, 0);
	code_free(&code);
}

static void test_tail_calls(void **state)
{
	(void)state;
	struct code code = X86(0xff, 0xe7); /* jmp *%rdi: an argument */
	assert_complete(&code);
	assert_exit(&code, 0, 0, CODE_JUMP_INDIRECT, 0);
	code_free(&code);

	code = X86(0x48, 0x8b, 0x47, 8, 0xff, 0xe0); /* mov 8(%rdi),%rax; jmp *%rax */
	assert_complete(&code);
	assert_exit(&code, 0, 4, CODE_JUMP_INDIRECT, 0);
	code_free(&code);

	code = X86(0xff, 0x25, D32(0x100)); /* jmp *0x100(%rip): through the GOT */
	assert_complete(&code);
	assert_exit(&code, 0, 0, CODE_JUMP_INDIRECT, BASE + 6 + 0x100);
	code_free(&code);

	code = X86(0xff, 0x67, 0x10); /* jmp *0x10(%rdi) */
	assert_complete(&code);
	assert_exit(&code, 0, 0, CODE_JUMP_INDIRECT, 0);
	code_free(&code);
}

/* A known place in the function: lea 2(%rip),%rax; jmp *%rax; 9: int3 int3; b: ret */
static void test_address_of_a_label(void **state)
{
	(void)state;
	struct code code = X86(0x48, 0x8d, 0x05, D32(4), 0xff, 0xe0, 0xcc, 0xcc, 0xc3);
	assert_complete(&code);
	assert_int_equal(code.exits.n, 1);
	assert_exit(&code, 0, 11, CODE_RETURN, 0);
	code_free(&code);
}

/* Threaded code looks like a tail call; the places it goes to give it away. */
static void test_computed_goto_is_not_taken_for_a_tail_call(void **state)
{
	(void)state;
	struct code code = X86(0xff, 0x27, 0x48, 0x83, 0xc7, 8, 0xff, 0x27, 0xc3); /* jmp *(%rdi) */
	assert_incomplete(&code, "not reached");
	code_free(&code);
}

/* cmpb $1,(%rsi); ja 1f; movzbl (%rsi),%eax; jmp *DATA(,%rax,8); ret; 1: ret */
static void test_bound_of_a_value_in_memory(void **state)
{
	(void)state;
	put_addresses((uint64_t[]){BASE + 15, BASE + 15, BASE + 3}, 3);
	struct code code = X86(0x80, 0x3e, 1, 0x77, 11, 0x0f, 0xb6, 0x06, 0xff, 0x24, 0xc5,
			       D32(DATA), 0xc3, 0xc3);
	assert_complete(&code);
	assert_false(code_step_at(&code, BASE + 3)->target);
	code_free(&code);
}

/* lea -5(%rdi),%eax; cmp $1,%eax; je out; ja out: the bound is not at the first jump */
static void test_bound_behind_another_jump(void **state)
{
	(void)state;
	put_addresses((uint64_t[]){BASE + 17, BASE + 17, BASE + 3}, 3);
	struct code code = X86(0x8d, 0x47, 0xfb, 0x83, 0xf8, 1, 0x74, 10, 0x77, 8, 0xff, 0x24, 0xc5,
			       D32(DATA), 0xc3, 0xc3);
	assert_complete(&code);
	assert_false(code_step_at(&code, BASE + 3)->target);
	code_free(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_with_a_bound),
		cmocka_unit_test(test_offsets_without_a_bound_end_where_they_leave),
		cmocka_unit_test(test_table_that_leaves_the_function),
		cmocka_unit_test(test_table_that_cannot_be_read),
		cmocka_unit_test(test_addresses_with_a_mask),
		cmocka_unit_test(test_addresses_through_a_register),
		cmocka_unit_test(test_array_of_functions_is_a_tail_call),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_address_of_a_label),
		cmocka_unit_test(test_computed_goto_is_not_taken_for_a_tail_call),
		cmocka_unit_test(test_bound_of_a_value_in_memory),
		cmocka_unit_test(test_bound_behind_another_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
