/* Where the entry probe goes, and what the kernel does with a probe at an instruction. */
#include "target/entry.h"

#include <errno.h>

#include "tests/unit/target/decoded.h"

unsigned char data[DATA_ROOM];
size_t data_size;

#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa
#define RDI   (UINT64_C(1) << 7)

static const struct entry_rules plain = {0};

static struct entry_site choose(struct code code, const struct entry_rules *rules)
{
	struct entry_site site;

	entry_choose(&code, rules, &site);
	code_free(&code);
	return site;
}

static void assert_site(const struct entry_site *site, uint64_t delta, enum code_class class)
{
	assert_int_equal(site->delta_bytes, delta);
	assert_int_equal(site->address, BASE + delta);
	assert_int_equal(site->at_site, class);
	assert_true(*site->why);
}

static void test_past_endbr_to_push(void **state)
{
	struct entry_site site = choose(X86(ENDBR, 0x55, 0x5d, 0xc3), &plain);

	(void)state;
	assert_site(&site, 4, CODE_EMULATED);
	assert_int_equal(site.at_start, CODE_STEPPED);
	assert_string_equal(site.start_text, "endbr64");
	assert_string_equal(site.site_text, "push %rbp");
	assert_int_equal(site.pushed_bytes, 0);
}

static void test_stays_on_a_cheap_first_instruction(void **state)
{
	struct entry_site site = choose(X86(0x41, 0x57, 0x41, 0x5f, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_EMULATED);
}

static void test_stack_pointer_is_left_alone(void **state)
{
	/* endbr64; sub $8,%rsp; call X; add $8,%rsp; ret */
	struct entry_rules pushes = {.may_push = true};
	struct entry_site site;

	(void)state;
#define BODY X86(ENDBR, 0x48, 0x83, 0xec, 8, 0xe8, 0, 0x10, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3)
	site = choose(BODY, &plain);
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "moves the stack pointer"));
	site = choose(BODY, &pushes);
	assert_site(&site, 8, CODE_EMULATED);
	assert_int_equal(site.pushed_bytes, 8);
#undef BODY
}

static void test_captured_registers_are_kept(void **state)
{
	struct entry_rules captured = {.captured_registers = RDI};
	/* mov %esi,%edi; push %rbx; pop %rbx; ret */
	struct entry_site site = choose(X86(0x89, 0xf7, 0x53, 0x5b, 0xc3), &captured);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "captured"));
	site = choose(X86(0x89, 0xf7, 0x53, 0x5b, 0xc3), &plain);
	assert_site(&site, 2, CODE_EMULATED);
	site = choose(X86(0x89, 0xfe, 0x53, 0x5b, 0xc3), &captured); /* reads it only */
	assert_site(&site, 2, CODE_EMULATED);
}

static void test_loop_head_behind_endbr_is_no_site(void **state)
{
	/* endbr64; 4: push %rax; pop %rax; dec %edi; jne 4; ret */
	struct entry_site site =
		choose(X86(ENDBR, 0x50, 0x58, 0xff, 0xcf, 0x75, 0xfa, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "jumped to"));
	assert_false(site.is_loop_head);
}

static void test_target_in_the_skipped_stretch(void **state)
{
	/* endbr64; 4: xor; 6: push; pop; dec %edi; jne 4; ret */
	struct entry_site site =
		choose(X86(ENDBR, 0x31, 0xc0, 0x50, 0x58, 0xff, 0xcf, 0x75, 0xf8, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
}

static void test_target_from_the_cold_part(void **state)
{
	static const unsigned char body[] = {ENDBR, 0x50, 0x58, 0x74, 2, 0xc3,
					     0x90,  0xe9, 0xf1, 0x7f, 0, 0};
	static const unsigned char part[] = {0xe9, 0xff, 0x7f, 0xff, 0xff}; /* jmp BASE+4 */
	struct entry_site site =
		choose(decode_parts(EM_X86_64, body, sizeof(body), part, sizeof(part)), &plain);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "jumped to"));
}

static void test_function_that_is_one_loop(void **state)
{
	/* 0: nop; dec %edi; jne 0; ret */
	struct entry_site site = choose(X86(0x90, 0xff, 0xcf, 0x75, 0xfb, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_EMULATED);
	assert_true(site.is_loop_head);
	assert_non_null(strstr(site.why, "every round"));
}

static void test_no_site_inside_a_loop_from_the_start(void **state)
{
	/* 0: dec %edi; 2: jne 0; ret: the cheap jump is passed in every round as well */
	struct entry_site site = choose(X86(0xff, 0xcf, 0x75, 0xfc, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_true(site.is_loop_head);
}

static void test_other_symbols_are_not_passed(void **state)
{
	static const uint64_t symbols[] = {BASE - 1, BASE, BASE + 4, BASE + 100};
	struct entry_rules rules = {.symbols = symbols, .n_symbols = 4};
	struct entry_site site = choose(X86(ENDBR, 0x55, 0x5d, 0xc3), &rules);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "another symbol"));
	rules.n_symbols = 2;
	site = choose(X86(ENDBR, 0x55, 0x5d, 0xc3), &rules);
	assert_site(&site, 4, CODE_EMULATED);
}

static void test_slow_instructions_are_not_passed(void **state)
{
	static const unsigned char slow[][2] = {{0x0f, 0x05}, {0xf3, 0xaa}, {0x0f, 0xa2}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct entry_site site =
			choose(X86(ENDBR, slow[i][0], slow[i][1], 0x55, 0x5d, 0xc3), &plain);
		assert_site(&site, 0, CODE_STEPPED);
		assert_non_null(strstr(site.why, "may take long"));
	}
}

static void test_incomplete_functions_keep_their_site(void **state)
{
	struct entry_site site = choose(X86(ENDBR, 0x55, 0x5d), &plain);

	(void)state;
	assert_site(&site, 0, CODE_STEPPED);
	assert_non_null(strstr(site.why, "not all of the function"));
}

static void test_five_byte_nop_only_at_the_beginning(void **state)
{
	const struct entry_rules rules = {.nop5_is_cheap = true};
	struct entry_site site;

	(void)state;
	site = choose(X86(0x0f, 0x1f, 0x44, 0, 0, 0xc3), &rules);
	assert_site(&site, 0, CODE_NOP5);
	site = choose(X86(ENDBR, 0x0f, 0x1f, 0x44, 0, 0, 0xc3), &rules);
	assert_site(&site, 4, CODE_NOP5);
	site = choose(X86(ENDBR, 0x31, 0xc0, 0x0f, 0x1f, 0x44, 0, 0, 0xc3), &rules);
	assert_site(&site, 0, CODE_STEPPED);
	site = choose(X86(ENDBR, 0x0f, 0x1f, 0x44, 0, 0, 0x55, 0x5d, 0xc3), &plain);
	assert_site(&site, 9, CODE_EMULATED);
}

static void test_long_nops_only_where_the_kernel_knows_them(void **state)
{
	const struct entry_rules rules = {.long_nops = true};
	struct entry_site site = choose(X86(ENDBR, 0x0f, 0x1f, 0x40, 0, 0x31, 0xc0, 0xc3), &rules);

	(void)state;
	assert_site(&site, 4, CODE_LONG_NOP);
	site = choose(X86(ENDBR, 0x0f, 0x1f, 0x40, 0, 0x31, 0xc0, 0xc3), &plain);
	assert_site(&site, 0, CODE_STEPPED);
}

static void test_refused_first_instruction(void **state)
{
	/* lock incl (%rdi); ret */
	struct entry_site site = choose(X86(0xf0, 0xff, 0x07, 0xc3), &plain);

	(void)state;
	assert_site(&site, 0, CODE_REFUSED);
	assert_non_null(strstr(site.why, "lock prefix"));
	assert_int_equal(site.at_start, CODE_REFUSED);
}

static void test_check_of_given_places(void **state)
{
	/* 0: mov $1,%eax; 5: nop5; a: lock incl (%rdi); d: ret; e: nop */
	struct code code =
		X86(0xb8, 1, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0, 0xf0, 0xff, 0x07, 0xc3, 0x90);
	static const struct {
		uint64_t offset;
		const char *why; /* NULL: fine */
	} cases[] = {
		{0, NULL},
		{3, "inside the instruction at +0 "},
		{5, "five-byte nop"},
		{7, "inside the instruction at +0x5 "},
		{0xa, "lock prefix"},
		{0xd, NULL},
		{0xe, "no instruction is known"},
		{0x40, "no instruction is known"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct entry_site site;
		int rc = entry_check(&code, BASE + cases[i].offset, &site);
		assert_int_equal(rc, cases[i].why ? -EINVAL : 0);
		if (cases[i].why && !strstr(site.why, cases[i].why))
			fail_msg("\"%s\" does not say \"%s\"", site.why, cases[i].why);
	}
	code_free(&code);
}

static void test_classes(void **state)
{
	static const struct {
		unsigned char bytes[8];
		enum code_class class;
	} cases[] = {
		{{0x50}, CODE_EMULATED},	     /* push %rax */
		{{0x57}, CODE_EMULATED},	     /* push %rdi */
		{{0x41, 0x54}, CODE_EMULATED},	     /* push %r12 */
		{{0x48, 0x55}, CODE_STEPPED},	     /* rex.W push %rbp */
		{{0x66, 0x50}, CODE_STEPPED},	     /* push %ax */
		{{0xff, 0x30}, CODE_STEPPED},	     /* push (%rax) */
		{{0x6a, 1}, CODE_STEPPED},	     /* push $1 */
		{{0x58}, CODE_STEPPED},		     /* pop %rax */
		{{0xe8, 0, 0, 0, 0}, CODE_EMULATED}, /* call */
		{{0xe9, 0, 0, 0, 0}, CODE_EMULATED}, /* jmp */
		{{0xeb, 0}, CODE_EMULATED},
		{{0xf2, 0xe9, 0, 0, 0, 0}, CODE_EMULATED}, /* bnd jmp */
		{{0x74, 0}, CODE_EMULATED},
		{{0x0f, 0x8f, 0, 0, 0, 0}, CODE_EMULATED},
		{{0x66, 0x74, 0}, CODE_REFUSED},
		{{0x2e, 0x74, 0}, CODE_REFUSED}, /* branch hint */
		{{0xe3, 0}, CODE_STEPPED},	 /* jrcxz */
		{{0xff, 0xe0}, CODE_STEPPED},
		{{0x3e, 0xff, 0xe0}, CODE_REFUSED}, /* notrack jmp */
		{{0xc3}, CODE_STEPPED},
		{{0x90}, CODE_EMULATED},
		{{0x66, 0x90}, CODE_EMULATED},
		{{0xf3, 0x90}, CODE_STEPPED}, /* pause */
		{{0x49, 0x90}, CODE_REFUSED}, /* xchg %rax,%r8 */
		{{0x0f, 0x1f, 0}, CODE_LONG_NOP},
		{{0x66, 0x0f, 0x1f, 0x44, 0, 0}, CODE_LONG_NOP},
		{{0x0f, 0x1f, 0x44, 0, 0}, CODE_NOP5},
		{{0x66, 0x66, 0x66, 0x66, 0x90}, CODE_NOP5},
		{{0x48, 0x8d, 0x64, 0x24, 0}, CODE_NOP5}, /* lea 0(%rsp),%rsp */
		{{0x48, 0x8d, 0x64, 0x24, 8}, CODE_STEPPED},
		{{ENDBR}, CODE_STEPPED},
		{{0xf0, 0xff, 0x07}, CODE_REFUSED}, /* lock incl (%rdi) */
		{{0x64, 0x8b, 0}, CODE_STEPPED},    /* mov %fs:(%rax),%eax */
		{{0x26, 0x8b, 0}, CODE_REFUSED},
		{{0x36, 0x8b, 0}, CODE_REFUSED},
		{{0x0f, 0x05}, CODE_REFUSED}, /* syscall */
		{{0x0f, 0x0b}, CODE_REFUSED}, /* ud2 */
		{{0xf4}, CODE_REFUSED},	      /* hlt */
		{{0xcc}, CODE_REFUSED},
		{{0xcd, 0x80}, CODE_REFUSED},
		{{0xec}, CODE_REFUSED},				/* in */
		{{0x48, 0xcf}, CODE_REFUSED},			/* iretq */
		{{0x8e, 0xd0}, CODE_REFUSED},			/* mov %eax,%ss */
		{{0x8e, 0xd8}, CODE_STEPPED},			/* mov %eax,%ds */
		{{0xc5, 0xf9, 0x6f, 0xc1}, CODE_REFUSED},	/* vmovdqa: opcode 6f is outs */
		{{0xc5, 0xf8, 0x77}, CODE_STEPPED},		/* vzeroupper */
		{{0x48, 0x8b, 0x05, 0, 0, 0, 0}, CODE_STEPPED}, /* mov 0(%rip),%rax */
		{{0x06}, CODE_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code = decode_parts(EM_X86_64, cases[i].bytes, 8, NULL, 0);
		const char *why = "";
		char text[CODE_TEXT_ROOM];
		enum code_class class = code_classify(&code, BASE, &why);
		code_text(&code, BASE, text);
		if (class != cases[i].class)
			fail_msg("%s: %s", text, code_class_name(class));
		assert_int_equal(why != NULL, class == CODE_REFUSED);
		code_free(&code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_past_endbr_to_push),
		cmocka_unit_test(test_stays_on_a_cheap_first_instruction),
		cmocka_unit_test(test_stack_pointer_is_left_alone),
		cmocka_unit_test(test_captured_registers_are_kept),
		cmocka_unit_test(test_loop_head_behind_endbr_is_no_site),
		cmocka_unit_test(test_target_in_the_skipped_stretch),
		cmocka_unit_test(test_target_from_the_cold_part),
		cmocka_unit_test(test_function_that_is_one_loop),
		cmocka_unit_test(test_no_site_inside_a_loop_from_the_start),
		cmocka_unit_test(test_other_symbols_are_not_passed),
		cmocka_unit_test(test_slow_instructions_are_not_passed),
		cmocka_unit_test(test_incomplete_functions_keep_their_site),
		cmocka_unit_test(test_five_byte_nop_only_at_the_beginning),
		cmocka_unit_test(test_long_nops_only_where_the_kernel_knows_them),
		cmocka_unit_test(test_refused_first_instruction),
		cmocka_unit_test(test_check_of_given_places),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
