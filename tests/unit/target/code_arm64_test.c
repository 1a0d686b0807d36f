/* arm64 code, on words: flow, stack depth, classes. Runs on every machine. */
#include "tests/unit/target/decoded.h"

#include "target/entry.h"

unsigned char data[DATA_ROOM];
size_t data_size;

static struct code decode_words(const uint32_t *words, size_t n)
{
	static unsigned char bytes[256];

	assert_true(n * 4 <= sizeof(bytes));
	for (size_t i = 0; i < 4 * n; i++)
		bytes[i] = (unsigned char)(words[i / 4] >> 8 * (i % 4));
	return decode_parts(EM_AARCH64, bytes, 4 * n, NULL, 0);
}

#define ARM64(...)                                                                                 \
	decode_words((const uint32_t[]){__VA_ARGS__},                                              \
		     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

#define NOP	0xd503201f
#define RET	0xd65f03c0
#define BTI_C	0xd503245f
#define PACIASP 0xd503233f

static void test_exits(void **state)
{
	/* b.eq out; b.ne 12; b out; ret */
	struct code code = ARM64(0x54008000, 0x54000041, 0x14000400, RET);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code.exits.n, 3);
	assert_exit(&code, 0, 0, CODE_JUMP_IF, BASE + 0x1000);
	assert_int_equal(code.exits.at[0].condition, 0);
	assert_exit(&code, 1, 8, CODE_JUMP, BASE + 8 + 0x1000);
	assert_exit(&code, 2, 12, CODE_RETURN, 0);
	assert_true(code_step_at(&code, BASE + 12)->target);
	code_free(&code);
	code = ARM64(0xd65f0bff); /* retaa */
	assert_complete(&code);
	assert_exit(&code, 0, 0, CODE_RETURN, 0);
	code_free(&code);
}

static void test_register_conditions(void **state)
{
	(void)state;
	struct code code = ARM64(0xb4000040, NOP, RET); /* cbz x0,8 */
	assert_complete(&code);
	code_free(&code);
	code = ARM64(0x37080040, NOP, RET); /* tbnz w0,#1,8 */
	assert_complete(&code);
	code_free(&code);
	code = ARM64(0xb5008000, RET); /* cbnz x0,out */
	assert_incomplete(&code, "not in the flags");
	code_free(&code);
	code = ARM64(0x36088000, RET); /* tbz w0,#1,out */
	assert_incomplete(&code, "not in the flags");
	code_free(&code);
}

/* stp x29,x30,[sp,#-32]!; mov x29,sp; bl out; ldp x29,x30,[sp],#32; ret */
static void test_frame(void **state)
{
	struct code code = ARM64(0xa9be7bfd, 0x910003fd, 0x94000400, 0xa8c27bfd, RET);

	(void)state;
	assert_complete(&code);
	assert_int_equal(code_step_at(&code, BASE + 4)->sp, 32);
	assert_true(code.exits.at[0].depth_known);
	assert_int_equal(code.exits.at[0].depth, 0);
	assert_int_equal(code.calls.n, 1);
	assert_int_equal(code.calls.at[0].target, BASE + 8 + 0x1000);
	code_free(&code);
}

/* sub sp,sp,#16; str x19,[sp,#-16]!; mov sp,x29 …: depths through other forms */
static void test_stack_forms(void **state)
{
	(void)state;
	/* sub sp,sp,#16; str x19,[sp,#-16]!; ldr x19,[sp],#16; add sp,sp,#16; ret */
	struct code code = ARM64(0xd10043ff, 0xf81f0ff3, 0xf84107f3, 0x910043ff, RET);
	assert_complete(&code);
	assert_int_equal(code_step_at(&code, BASE + 8)->sp, 32);
	assert_int_equal(code.exits.at[0].depth, 0);
	assert_true(code.exits.at[0].depth_known);
	code_free(&code);
	/* sub sp,sp,#4096 (shifted); ret */
	code = ARM64(0xd14007ff, RET);
	assert_incomplete(&code, "with 4096 bytes");
	code_free(&code);
	/* sub sp,sp,x0; ret */
	code = ARM64(0xcb2063ff, RET);
	assert_complete(&code);
	assert_false(code.exits.at[0].depth_known);
	code_free(&code);
	/* stp x29,x30,[sp,#-16]!; mov x29,sp; sub sp,sp,x0; mov sp,x29; ldp …,[sp],#16; ret */
	code = ARM64(0xa9bf7bfd, 0x910003fd, 0xcb2063ff, 0x910003bf, 0xa8c17bfd, RET);
	assert_complete(&code);
	assert_true(code.exits.at[0].depth_known);
	assert_int_equal(code.exits.at[0].depth, 0);
	code_free(&code);
}

static void test_indirect(void **state)
{
	(void)state;
	struct code code = ARM64(0xd61f0000); /* br x0 */
	assert_complete(&code);
	assert_exit(&code, 0, 0, CODE_JUMP_INDIRECT, 0);
	code_free(&code);
	code = ARM64(0xf9400401, 0xd61f0020); /* ldr x1,[x0,#8]; br x1 */
	assert_complete(&code);
	code_free(&code);
	/* adr x1,8; add x0,x1,w0,sxtb #2; br x0 */
	code = ARM64(0x10000041, 0x8b208820, 0xd61f0000);
	assert_incomplete(&code, "computed address");
	code_free(&code);
	code = ARM64(0xd63f0020, RET); /* blr x1 */
	assert_complete(&code);
	assert_int_equal(code.n_indirect_calls, 1);
	code_free(&code);
}

static void test_refused(void **state)
{
	(void)state;
	struct code code = ARM64(0xd69f03e0); /* eret */
	assert_incomplete(&code, "far return");
	code_free(&code);
	code = ARM64(0x02000000, RET); /* unallocated */
	assert_incomplete(&code, "no instruction");
	code_free(&code);
	code = ARM64(NOP);
	assert_incomplete(&code, "runs on");
	code_free(&code);
	code = ARM64(0xd4200020, NOP, NOP); /* brk #1 and padding */
	assert_complete(&code);
	assert_int_equal(code.exits.n, 0);
	code_free(&code);
	code = decode_parts(EM_AARCH64, BYTES(0xc0, 3, 0x5f), NULL, 0); /* three bytes */
	assert_incomplete(&code, "no instruction");
	code_free(&code);
}

static void test_classes(void **state)
{
	static const struct {
		uint32_t word;
		enum code_class class;
	} cases[] = {
		{RET, CODE_EMULATED},	     {0x14000001, CODE_EMULATED},
		{0x54000040, CODE_EMULATED}, {0xb4000040, CODE_EMULATED},
		{0x90000000, CODE_EMULATED}, {0x58000040, CODE_EMULATED}, /* ldr x0,8 */
		{NOP, CODE_LONG_NOP},	     {BTI_C, CODE_STEPPED},
		{PACIASP, CODE_STEPPED},     {0xa9be7bfd, CODE_STEPPED},
		{0xd53bd040, CODE_STEPPED}, /* mrs x0,tpidr_el0 */
		{0x885f7c00, CODE_REFUSED}, /* ldxr */
		{0xd4000001, CODE_REFUSED}, /* svc */
		{0xd5033bbf, CODE_REFUSED}, /* dmb */
		{0x1c000040, CODE_REFUSED}, /* ldr s0,8 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code = ARM64(cases[i].word, RET);
		if (code_classify(&code, BASE, NULL) != cases[i].class)
			fail_msg("%08x: %s", cases[i].word,
				 code_class_name(code_classify(&code, BASE, NULL)));
		code_free(&code);
	}
}

/* bti c; paciasp; b out: past both to the branch */
static void test_site(void **state)
{
	const struct entry_rules rules = {.captured_registers = 1};
	struct code code = ARM64(BTI_C, 0xaa0003e8, 0x14000400); /* bti; mov x8,x0; b out */
	struct entry_site site;

	(void)state;
	entry_choose(&code, &rules, &site);
	assert_int_equal(site.delta_bytes, 8);
	assert_int_equal(site.at_site, CODE_EMULATED);
	assert_string_equal(site.start_text, "bti");
	code_free(&code);
	code = ARM64(BTI_C, 0xaa0103e0, 0x14000400); /* mov x0,x1 writes what is captured */
	entry_choose(&code, &rules, &site);
	assert_int_equal(site.delta_bytes, 0);
	code_free(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),	 cmocka_unit_test(test_register_conditions),
		cmocka_unit_test(test_frame),	 cmocka_unit_test(test_stack_forms),
		cmocka_unit_test(test_indirect), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_classes),	 cmocka_unit_test(test_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
