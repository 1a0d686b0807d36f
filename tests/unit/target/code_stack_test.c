/* Which functions take up another stack, on bytes: the frames of compilers do not. */
#include "tests/unit/target/decoded.h"

#include "target/code_stack.h"

unsigned char data[DATA_ROOM];
size_t data_size;

struct example {
	const char *code;
	bool switches;
	unsigned char bytes[48];
	size_t size;
};

#define CODE(...) {__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

static const struct example x86[] = {
	{"push %rbp; mov %rsp,%rbp; leave; ret", false, CODE(0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3)},
	{"push %rbp; mov %rsp,%rbp; push %rbx; mov %rsp,%rbx; sub %rax,%rsp; call .+100; mov "
	 "%rbx,%rsp; lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret",
	 false,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x89, 0xe3, 0x48, 0x29, 0xc4, 0xe8, 0x5f, 0x00,
	      0x00, 0x00, 0x48, 0x89, 0xdc, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3)},
	{"push %rbp; mov %rsp,%rbp; mov %rsp,-16(%rbp); sub %rax,%rsp; call .+100; mov "
	 "-16(%rbp),%rcx; mov %rcx,%rsp; leave; ret",
	 false,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x65, 0xf0, 0x48, 0x29, 0xc4, 0xe8, 0x5f, 0x00,
	      0x00, 0x00, 0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x89, 0xcc, 0xc9, 0xc3)},
	{"lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; "
	 "call .+100; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret",
	 false,
	 CODE(0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8, 0x55,
	      0x48, 0x89, 0xe5, 0x41, 0x52, 0xe8, 0x5f, 0x00, 0x00, 0x00, 0x4c, 0x8b, 0x55, 0xf8,
	      0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3)},
	{"mov %rsp,%rax; and $-16,%rsp; sub $16,%rsp; mov %rax,(%rsp); pop %rsp; ret", false,
	 CODE(0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x04,
	      0x24, 0x5c, 0xc3)},
	{"mov %rsp,%rax; lea 8(%rax),%rcx; cmove %rcx,%rax; mov %rax,%rsp; ret", false,
	 CODE(0x48, 0x89, 0xe0, 0x48, 0x8d, 0x48, 0x08, 0x48, 0x0f, 0x44, 0xc1, 0x48, 0x89, 0xc4,
	      0xc3)},
	{"mov %rsp,%rbx; test %edi,%edi; je 1f; xor %ebx,%ebx; call .+100; 1: mov %rbx,%rsp; ret",
	 false,
	 CODE(0x48, 0x89, 0xe3, 0x85, 0xff, 0x74, 0x07, 0x31, 0xdb, 0xe8, 0x5f, 0x00, 0x00, 0x00,
	      0x48, 0x89, 0xdc, 0xc3)},
	{"push %rbp; mov %rsp,(%rdi); mov (%rsi),%rsp; pop %rbp; ret", true,
	 CODE(0x55, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x5d, 0xc3)},
	{"mov %rsp,(%rdi); mov %rsi,%rsp; ret", true,
	 CODE(0x48, 0x89, 0x27, 0x48, 0x89, 0xf4, 0xc3)},
	{"mov %rsp,%rax; mov %rax,(%rdi); mov (%rsi),%rax; mov %rax,%rsp; ret", true,
	 CODE(0x48, 0x89, 0xe0, 0x48, 0x89, 0x07, 0x48, 0x8b, 0x06, 0x48, 0x89, 0xc4, 0xc3)},
	{"mov (%r12),%rsp; jmp *%rcx", true, CODE(0x49, 0x8b, 0x24, 0x24, 0xff, 0xe1)},
	{"xchg %rsp,(%rdi); ret", true, CODE(0x48, 0x87, 0x27, 0xc3)},
	{"xchg %rax,%rsp; ret", true, CODE(0x48, 0x94, 0xc3)},
	{"xchg %rsp,%r9; ret", true, CODE(0x49, 0x87, 0xe1, 0xc3)},
	{"push %rdi; pop %rsp; ret", true, CODE(0x57, 0x5c, 0xc3)},
	{"lea (%rdi,%rsi),%rsp; ret", true, CODE(0x48, 0x8d, 0x24, 0x37, 0xc3)},
	{"mov %rsp,(%rdi); call .+100; mov %rax,%rsp; ret", true,
	 CODE(0x48, 0x89, 0x27, 0xe8, 0x5f, 0x00, 0x00, 0x00, 0x48, 0x89, 0xc4, 0xc3)},
	{"push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp); mov %rsp,-16(%rbp); mov -8(%rbp),%rsp; ret",
	 true,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8, 0x48, 0x89, 0x65, 0xf0, 0x48, 0x8b,
	      0x65, 0xf8, 0xc3)},
	{"mov %rsp,8(%rdi); mov 8(%rdi),%rsp; ret", true,
	 CODE(0x48, 0x89, 0x67, 0x08, 0x48, 0x8b, 0x67, 0x08, 0xc3)},
	{"mov %rsp,(%rdi); add %rsi,%rsp; ret", true,
	 CODE(0x48, 0x89, 0x27, 0x48, 0x01, 0xf4, 0xc3)},
	{"mov %rsp,(%rdi); add (%rsi),%rsp; ret", true,
	 CODE(0x48, 0x89, 0x27, 0x48, 0x03, 0x26, 0xc3)},
};

static const struct example arm64[] = {
	{"stp x29, x30, [sp, -32]!; mov x29, sp; mov sp, x29; ldp x29, x30, [sp], 32; ret", false,
	 CODE(0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xbf, 0x03, 0x00, 0x91, 0xfd, 0x7b,
	      0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6)},
	{"stp x29, x30, [sp, -32]!; mov x29, sp; str x19, [sp, 16]; mov x19, sp; sub sp, sp, x0; "
	 "bl .+64; mov sp, x19; ldr x19, [sp, 16]; ldp x29, x30, [sp], 32; ret",
	 false,
	 CODE(0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xf3, 0x0b, 0x00, 0xf9, 0xf3, 0x03,
	      0x00, 0x91, 0xff, 0x63, 0x20, 0xcb, 0x10, 0x00, 0x00, 0x94, 0x7f, 0x02, 0x00, 0x91,
	      0xf3, 0x0b, 0x40, 0xf9, 0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6)},
	{"mov x9, sp; str x9, [x29, 24]; sub x0, sp, #64; mov x29, sp; str x9, [x29, 24]; and sp, "
	 "x0, #-32; bl .+64; ldr x1, [x29, 24]; mov sp, x1; ret",
	 false,
	 CODE(0xe9, 0x03, 0x00, 0x91, 0xa9, 0x0f, 0x00, 0xf9, 0xe0, 0x03, 0x01, 0xd1, 0xfd, 0x03,
	      0x00, 0x91, 0xa9, 0x0f, 0x00, 0xf9, 0x1f, 0xe8, 0x7b, 0x92, 0x10, 0x00, 0x00, 0x94,
	      0xa1, 0x0f, 0x40, 0xf9, 0x3f, 0x00, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)},
	{"sub x9, sp, #1, lsl #12; mov sp, x9; ret", false,
	 CODE(0xe9, 0x07, 0x40, 0xd1, 0x3f, 0x01, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)},
	{"mov x9, sp; str x9, [x0]; ldr x9, [x1]; mov sp, x9; ret", true,
	 CODE(0xe9, 0x03, 0x00, 0x91, 0x09, 0x00, 0x00, 0xf9, 0x29, 0x00, 0x40, 0xf9, 0x3f, 0x01,
	      0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6)},
	{"mov sp, x1; br x2", true, CODE(0x3f, 0x00, 0x00, 0x91, 0x40, 0x00, 0x1f, 0xd6)},
	{"mov x19, sp; bl .+64; mov sp, x0; ret", true,
	 CODE(0xf3, 0x03, 0x00, 0x91, 0x10, 0x00, 0x00, 0x94, 0x1f, 0x00, 0x00, 0x91, 0xc0, 0x03,
	      0x5f, 0xd6)},
	{"add sp, x1, #256; ret", true, CODE(0x3f, 0x00, 0x04, 0x91, 0xc0, 0x03, 0x5f, 0xd6)},
	{"and sp, x1, #-16; ret", true, CODE(0x3f, 0xec, 0x7c, 0x92, 0xc0, 0x03, 0x5f, 0xd6)},
};

static void check(uint16_t machine, const struct example *example)
{
	struct code code = decode_parts(machine, example->bytes, example->size, NULL, 0);
	uint64_t at = 0;

	assert_complete(&code);
	if (code_stack_is_switched(&code, false, &at) != example->switches)
		fail_msg("%s: %s", example->code, example->switches ? "not seen" : "false alarm");
	assert_true(!example->switches || code_step_at(&code, at));
	code_free(&code);
}

static void followed_through_the_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		check(EM_X86_64, &x86[i]);
	for (size_t i = 0; i < sizeof(arm64) / sizeof(*arm64); i++)
		check(EM_AARCH64, &arm64[i]);
}

/* A part of a function has in its registers what the function put there. */
static void parts_come_with_their_registers(void **state)
{
	/* mov %rbx,%rsp; ret */
	struct code code = X86(0x48, 0x89, 0xdc, 0xc3);
	uint64_t at;

	(void)state;
	assert_true(code_stack_is_switched(&code, false, &at));
	assert_false(code_stack_is_switched(&code, true, &at));
	code_free(&code);
}

/* Every switch is among what is looked into, wherever it stands and whatever is around it. */
static void found_by_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++) {
		unsigned char bytes[128];
		memset(bytes, 0x90, sizeof(bytes));
		memcpy(bytes + 64, x86[i].bytes, x86[i].size);
		size_t at = code_stack_find(EM_X86_64, bytes, 0, sizeof(bytes));
		if (x86[i].switches && (at < 64 || at >= 64 + x86[i].size))
			fail_msg("%s: at %zu", x86[i].code, at);
		assert_true(at == sizeof(bytes) ||
			    code_stack_is_boundary(EM_X86_64, bytes, sizeof(bytes), at));
		/* At the end of the bytes as well. */
		at = code_stack_find(EM_X86_64, x86[i].bytes, 0, x86[i].size);
		assert_int_equal(at < x86[i].size, code_stack_find(EM_X86_64, bytes, 0, 128) < 128);
	}
	for (size_t i = 0; i < sizeof(arm64) / sizeof(*arm64); i++)
		if (arm64[i].switches)
			assert_true(code_stack_find(EM_AARCH64, arm64[i].bytes, 0, arm64[i].size) <
				    arm64[i].size);
}

/* What ordinary frames are made of is passed over, and so is what belongs to other registers. */
static void ordinary_bytes_are_passed_over(void **state)
{
	static const struct example ordinary[] = {
		{"mov %rbp,%rsp", false, CODE(0x48, 0x89, 0xec, 0xc3)},
		{"mov %rbp,%rsp, the other way", false, CODE(0x48, 0x8b, 0xe5, 0xc3)},
		{"lea -40(%rbp),%rsp", false, CODE(0x48, 0x8d, 0x65, 0xd8, 0xc3)},
		{"lea 8(%rsp),%rsp", false, CODE(0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3)},
		{"lea -8(%r10),%rsp", false, CODE(0x49, 0x8d, 0x62, 0xf8, 0xc3)},
		{"pop %r12; ret", false, CODE(0x41, 0x5c, 0xc3)},
		{"mov (%rsi),%r12", false, CODE(0x4c, 0x8b, 0x26, 0xc3)},
		{"mov %rsp,(%rdi)", false, CODE(0x48, 0x89, 0x27, 0xc3)},
		{"mov %rsp,%rbx", false, CODE(0x48, 0x89, 0xe3, 0xc3)},
		{"mov 8(%rsp),%rbx", false, CODE(0x48, 0x8b, 0x5c, 0x24, 0x08, 0xc3)},
		{"xchg %rax,%r12", false, CODE(0x49, 0x94, 0xc3)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(*ordinary); i++)
		if (code_stack_find(EM_X86_64, ordinary[i].bytes, 0, ordinary[i].size) !=
		    ordinary[i].size)
			fail_msg("%s", ordinary[i].code);
}

static void the_middle_of_an_instruction_is_none(void **state)
{
	/* movabs $0x9090909090268b48,%rax; ret: its constant reads as mov (%rsi),%rsp */
	static const unsigned char constant[] = {0x48, 0xb8, 0x48, 0x8b, 0x26, 0x90,
						 0x90, 0x90, 0x90, 0x90, 0xc3};
	/* with a prefix that was not looked for: es mov (%rsi),%rsp */
	static const unsigned char prefixed[] = {0x26, 0x48, 0x8b, 0x26, 0xc3};
	/* no instruction, then mov (%rsi),%rsp: not known */
	static const unsigned char odd[] = {0x06, 0x48, 0x8b, 0x26, 0xc3};

	(void)state;
	assert_int_equal(code_stack_find(EM_X86_64, constant, 0, sizeof(constant)), 2);
	assert_false(code_stack_is_boundary(EM_X86_64, constant, sizeof(constant), 2));
	assert_int_equal(code_stack_find(EM_X86_64, prefixed, 0, sizeof(prefixed)), 1);
	assert_true(code_stack_is_boundary(EM_X86_64, prefixed, sizeof(prefixed), 1));
	assert_true(code_stack_is_boundary(EM_X86_64, odd, sizeof(odd), 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(followed_through_the_code),
		cmocka_unit_test(parts_come_with_their_registers),
		cmocka_unit_test(found_by_bytes),
		cmocka_unit_test(ordinary_bytes_are_passed_over),
		cmocka_unit_test(the_middle_of_an_instruction_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
