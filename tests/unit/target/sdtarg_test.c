/* Every form of an argument, one by one and together. */
#include "common.h"

#include <elf.h>

#include "target/sdtarg.h"

#define NO   UP_ARG_NO_REGISTER
#define SITE UINT64_C(0x401000)

/* Offsets into struct pt_regs and struct user_pt_regs (asm/ptrace.h), written out again. */
enum { R15 = 0, R12 = 24, RBP = 32, RBX = 40, R9 = 64, R8 = 72, RAX = 80, RCX = 88, RDX = 96 };
enum { RSI = 104, RDI = 112, RIP = 128, RSP = 152 };

static const char *symbol(void *context, const char *name, size_t length, uint64_t *address)
{
	(void)context;
	if (length == 7 && memcmp(name, "counter", 7) == 0)
		*address = 0x404010;
	else if (length == 7 && memcmp(name, "a table", 7) == 0)
		*address = 0x404100;
	else if (length == 4 && memcmp(name, "twin", 4) == 0)
		return "is the name of several things in the file";
	else
		return "is not among the file's symbols";
	return NULL;
}

struct expected {
	const char *text;
	enum up_arg_kind kind;
	unsigned base, index, shift, size;
	bool is_signed;
	int64_t value;
	const char *type; /* NULL: not looked at */
	bool is_float;
};

static void read_one(const char *text, uint16_t machine, bool fixed, struct sdtarg *arg)
{
	struct sdtarg_site site = {
		.machine = machine, .address = SITE, .fixed = fixed, .symbol = symbol};
	size_t n = sdtarg_parse(text, &site, arg, 1);

	if (n != 1)
		fail_msg("\"%s\": %zu arguments", text, n);
}

static void check(const struct expected *expected, size_t n, uint16_t machine, bool fixed)
{
	for (; n--; expected++) {
		struct sdtarg got;
		const struct up_arg *arg = &got.arg;
		read_one(expected->text, machine, fixed, &got);
		if (arg->kind != expected->kind || got.problem[0])
			fail_msg("\"%s\": kind %u: %s", expected->text, arg->kind, got.problem);
		if (arg->base != expected->base || arg->index != expected->index ||
		    arg->shift != expected->shift || arg->size != expected->size ||
		    arg->is_signed != expected->is_signed || arg->value != expected->value ||
		    got.is_float != expected->is_float)
			fail_msg("\"%s\": base %u index %u shift %u size %u sign %u value %lld",
				 expected->text, arg->base, arg->index, arg->shift, arg->size,
				 arg->is_signed, (long long)arg->value);
		if (expected->type && (!got.type || strcmp(got.type, expected->type) != 0))
			fail_msg("\"%s\" is a %s", expected->text, got.type ? got.type : "?");
		assert_int_equal(arg->spare, 0);
	}
}

#define REGISTER(text, base, shift, size, sign, type)                                              \
	{                                                                                          \
		text, UP_ARG_REGISTER, base, 0, shift, size, sign, 0, type, false                  \
	}
#define MEMORY(text, base, index, shift, value)                                                    \
	{                                                                                          \
		text, UP_ARG_MEMORY, base, index, shift, 8, false, value, NULL, false              \
	}
#define CONSTANT(text, size, sign, value, type)                                                    \
	{                                                                                          \
		text, UP_ARG_CONSTANT, 0, 0, 0, size, sign, value, type, false                     \
	}
#define FLOAT(text, kind, base, index, size, value, type)                                          \
	{                                                                                          \
		text, kind, base, index, 0, size, false, value, type, true                         \
	}

static void x86_registers(void **state)
{
	static const struct expected list[] = {
		REGISTER("8@%rax", RAX, 0, 8, false, "uint64_t"),
		REGISTER("-8@%r15", R15, 0, 8, true, "int64_t"),
		REGISTER("-4@%ebx", RBX, 0, 4, true, "int32_t"),
		REGISTER("4@%r12d", R12, 0, 4, false, "uint32_t"),
		REGISTER("2@%si", RSI, 0, 2, false, "uint16_t"),
		REGISTER("-2@%r9w", R9, 0, 2, true, "int16_t"),
		REGISTER("-1@%dil", RDI, 0, 1, true, "int8_t"),
		REGISTER("1@%al", RAX, 0, 1, false, "uint8_t"),
		REGISTER("1@%r8b", R8, 0, 1, false, "uint8_t"),
		REGISTER("1@%spl", RSP, 0, 1, false, "uint8_t"),
		/* The second byte. */
		REGISTER("-1@%ah", RAX, 8, 1, true, "int8_t"),
		REGISTER("1@%bh", RBX, 8, 1, false, "uint8_t"),
		REGISTER("1@%ch", RCX, 8, 1, false, "uint8_t"),
		REGISTER("1@%dh", RDX, 8, 1, false, "uint8_t"),
		/* A part of the register. */
		REGISTER("4@%rax", RAX, 0, 4, false, "uint32_t"),
		REGISTER("-1@%rdx", RDX, 0, 1, true, "int8_t"),
		/* The register has less than the argument. */
		REGISTER("8@%eax", RAX, 0, 4, false, "uint32_t"),
		REGISTER("-8@%ah", RAX, 8, 1, true, "int8_t"),
		REGISTER("8@%rip", RIP, 0, 8, false, "uint64_t"),
		REGISTER("8@%rsp", RSP, 0, 8, false, "uint64_t"),
		REGISTER("8@%rbp", RBP, 0, 8, false, "uint64_t"),
		/* No size: the whole register. */
		REGISTER("%rax", RAX, 0, 8, false, "uint64_t"),
		REGISTER("%ecx", RCX, 0, 4, false, "uint32_t"),
		REGISTER("%dh", RDX, 8, 1, false, "uint8_t"),
		FLOAT("8f@%rax", UP_ARG_REGISTER, RAX, 0, 8, 0, "double"),
		FLOAT("4f@%edx", UP_ARG_REGISTER, RDX, 0, 4, 0, "float"),
	};

	(void)state;
	check(list, N_ITEMS(list), EM_X86_64, false);
}

static void x86_constants(void **state)
{
	static const struct expected list[] = {
		CONSTANT("1@$0", 1, false, 0, "uint8_t"),
		CONSTANT("-4@$-17", 4, true, -17, "int32_t"),
		CONSTANT("8@$1234605616436508552", 8, false, 1234605616436508552, "uint64_t"),
		CONSTANT("8@$18446744073709551615", 8, false, -1, "uint64_t"),
		CONSTANT("-8@$-9223372036854775808", 8, true, INT64_MIN, "int64_t"),
		CONSTANT("4@$0x1F", 4, false, 31, "uint32_t"),
		CONSTANT("-4@$-0x10", 4, true, -16, "int32_t"),
		CONSTANT("4@$017", 4, false, 15, "uint32_t"),
		CONSTANT("4@$0b101", 4, false, 5, "uint32_t"),
		CONSTANT("-8@$8+0x10-4", 8, true, 20, "int64_t"),
		CONSTANT("-8@$--5", 8, true, 5, "int64_t"),
		/* Cut to the size, then extended as it says. */
		CONSTANT("4@$-1", 4, false, 0xffffffff, "uint32_t"),
		CONSTANT("-1@$200", 1, true, -56, "int8_t"),
		CONSTANT("-2@$0x18000", 2, true, -32768, "int16_t"),
		CONSTANT("$42", 8, false, 42, "uint64_t"),
		CONSTANT("-4@7", 4, true, 7, "int32_t"), /* Intel syntax leaves out the $ */
	};

	(void)state;
	check(list, N_ITEMS(list), EM_X86_64, false);
}

static void x86_memory(void **state)
{
	static const struct expected list[] = {
		MEMORY("8@8(%rsp)", RSP, NO, 0, 8),
		MEMORY("8@(%rsp)", RSP, NO, 0, 0),
		MEMORY("8@-0x20(%rbp)", RBP, NO, 0, -32),
		MEMORY("8@(%rax,%rbx)", RAX, RBX, 0, 0),
		MEMORY("8@(%rax,%rbx,1)", RAX, RBX, 0, 0),
		MEMORY("8@(%rax,%rbx,8)", RAX, RBX, 3, 0),
		MEMORY("8@-16(%rax,%r9,4)", RAX, R9, 2, -16),
		MEMORY("8@(,%rax,8)", NO, RAX, 3, 0),
		MEMORY("8@(,%rax)", NO, RAX, 0, 0),
		MEMORY("8@24(,%r8,2)", NO, R8, 1, 24),
		MEMORY("8@(%rax,)", RAX, NO, 0, 0),
		MEMORY("8@(%rax,,)", RAX, NO, 0, 0),
		MEMORY("8@(%rax,%rbx,)", RAX, RBX, 0, 0),
		MEMORY("8@0(%rdi)", RDI, NO, 0, 0),
		MEMORY("8@8+8(%rdi)", RDI, NO, 0, 16),
		MEMORY("8@-8+16(%rdi)", RDI, NO, 0, 8),
		MEMORY("(%rdi)", RDI, NO, 0, 0),
		MEMORY("16(%rdi)", RDI, NO, 0, 16),
		MEMORY("8@ 8( %rax , %rbx , 4 )", RAX, RBX, 2, 8),
		FLOAT("8f@-8(%rbp)", UP_ARG_MEMORY, RBP, NO, 8, -8, "double"),
		FLOAT("4f@(%rax)", UP_ARG_MEMORY, RAX, NO, 4, 0, "float"),
		{"-2@6(%rax)", UP_ARG_MEMORY, RAX, NO, 0, 2, true, 6, "int16_t", false},
	};

	(void)state;
	check(list, N_ITEMS(list), EM_X86_64, false);
}

#define COUNTER (0x404010 - (int64_t)SITE)

/* Where the file is loaded does not matter: the site moves with the symbol. */
static void x86_symbols(void **state)
{
	static const struct expected list[] = {
		MEMORY("8@counter(%rip)", RIP, NO, 0, COUNTER),
		MEMORY("8@counter+4(%rip)", RIP, NO, 0, COUNTER + 4),
		MEMORY("8@4+counter(%rip)", RIP, NO, 0, COUNTER + 4),
		MEMORY("8@-4+counter(%rip)", RIP, NO, 0, COUNTER - 4),
		MEMORY("8@counter-0x10(%rip)", RIP, NO, 0, COUNTER - 16),
		MEMORY("8@counter", RIP, NO, 0, COUNTER),
		MEMORY("8@counter+12", RIP, NO, 0, COUNTER + 12),
		MEMORY("8@8+counter", RIP, NO, 0, COUNTER + 8),
		MEMORY("counter(%rip)", RIP, NO, 0, COUNTER),
		MEMORY("8@counter(,%rax,8)", RIP, RAX, 3, COUNTER),
		MEMORY("8@\"a table\"(%rip)", RIP, NO, 0, 0x404100 - (int64_t)SITE),
	};
	static const struct expected fixed[] = {
		MEMORY("8@counter(%rip)", RIP, NO, 0, COUNTER),
		MEMORY("8@counter(%rax)", RAX, NO, 0, 0x404010),
		MEMORY("8@counter+4(%rax,%rbx,4)", RAX, RBX, 2, 0x404014),
		CONSTANT("8@$counter", 8, false, 0x404010, "uint64_t"),
		CONSTANT("8@$counter+8", 8, false, 0x404018, "uint64_t"),
	};

	(void)state;
	check(list, N_ITEMS(list), EM_X86_64, false);
	check(fixed, N_ITEMS(fixed), EM_X86_64, true);
}

static void arm64_operands(void **state)
{
	static const struct expected list[] = {
		REGISTER("8@x0", 0, 0, 8, false, "uint64_t"),
		REGISTER("-8@x30", 240, 0, 8, true, "int64_t"),
		REGISTER("-4@w19", 152, 0, 4, true, "int32_t"),
		REGISTER("8@w1", 8, 0, 4, false, "uint32_t"),
		REGISTER("8@sp", 248, 0, 8, false, "uint64_t"),
		REGISTER("4@wsp", 248, 0, 4, false, "uint32_t"),
		REGISTER("w3", 24, 0, 4, false, "uint32_t"),
		CONSTANT("8@xzr", 8, false, 0, "uint64_t"),
		CONSTANT("-4@wzr", 4, true, 0, "int32_t"),
		CONSTANT("-4@-17", 4, true, -17, "int32_t"),
		CONSTANT("8@0x10", 8, false, 16, "uint64_t"),
		CONSTANT("4@#5", 4, false, 5, "uint32_t"),
		MEMORY("8@[x22, 20]", 176, NO, 0, 20),
		MEMORY("8@[x22,-8]", 176, NO, 0, -8),
		MEMORY("8@[x22, #0x18]", 176, NO, 0, 24),
		MEMORY("8@[sp]", 248, NO, 0, 0),
		MEMORY("8@[sp, 104]", 248, NO, 0, 104),
		MEMORY("8@[ x1 ]", 8, NO, 0, 0),
		MEMORY("8@[x0, x1]", 0, 8, 0, 0),
		MEMORY("8@[x0, x1, lsl 3]", 0, 8, 3, 0),
		MEMORY("8@[x0,x1,lsl #2]", 0, 8, 2, 0),
		MEMORY("8@[x0, xzr]", 0, NO, 0, 0),
		FLOAT("8f@[x0, 8]", UP_ARG_MEMORY, 0, NO, 8, 8, "double"),
		FLOAT("4f@w2", UP_ARG_REGISTER, 16, 0, 4, 0, "float"),
	};

	(void)state;
	check(list, N_ITEMS(list), EM_AARCH64, false);
}

struct refused {
	const char *text, *problem;
	uint16_t machine;
	bool fixed;
};

static void what_cannot_be_read_says_why(void **state)
{
	static const struct refused list[] = {
		{"8@%xmm0", "does not see register %xmm0", EM_X86_64, false},
		{"8f@%xmm15", "does not see register %xmm15", EM_X86_64, false},
		{"8@%ymm1", "does not see", EM_X86_64, false},
		{"8@%k1", "does not see register %k1", EM_X86_64, false},
		{"8@%mm3", "does not see", EM_X86_64, false},
		{"8@%st(1)", "%st(1) is not a register", EM_X86_64, false},
		{"8@%r16", "does not see register %r16", EM_X86_64, false},
		{"8@%foo", "%foo is not a register", EM_X86_64, false},
		{"8@%", "not a register", EM_X86_64, false},
		{"8f@%eax", "a double in a register of 4 bytes", EM_X86_64, false},
		{"16@%rax", "a value of 16 bytes", EM_X86_64, false},
		{"3@%rax", "a value of 3 bytes", EM_X86_64, false},
		{"0@%rax", "a value of 0 bytes", EM_X86_64, false},
		{"-128@%rax", "a value of 128 bytes", EM_X86_64, false},
		{"10f@(%rax)", "a float of 10 bytes", EM_X86_64, false},
		{"2f@(%rax)", "a float of 2 bytes", EM_X86_64, false},
		{"99999999999999999999@%rax", "bytes", EM_X86_64, false},
		{"8@%fs:0", "in a segment", EM_X86_64, false},
		{"8@%fs:(%rax)", "in a segment", EM_X86_64, false},
		{"8@%gs:counter@tpoff", "in a segment", EM_X86_64, false},
		{"8@%fs:-8(%rax)", "in a segment", EM_X86_64, false},
		{"8@counter@GOTPCREL(%rip)", "linker's tables", EM_X86_64, false},
		{"8@twin(%rip)", "twin is the name of several", EM_X86_64, false},
		{"8@nowhere(%rip)", "nowhere is not among", EM_X86_64, false},
		{"8@.LC0(%rip)", ".LC0 is not among", EM_X86_64, false},
		{"8@counter(%rax)", "where the file is loaded", EM_X86_64, false},
		{"8@$counter", "where the file is loaded", EM_X86_64, false},
		{"8@$nowhere", "nowhere is not among", EM_X86_64, true},
		{"8@counter-twin(%rip)", "several symbols", EM_X86_64, false},
		{"8@counter+counter", "several symbols", EM_X86_64, false},
		{"8@16(%rip)", "an instruction that is not told", EM_X86_64, false},
		{"8@(%rip,%rax)", "%rip with an index", EM_X86_64, false},
		{"8@(%eax)", "a part of a register: %eax", EM_X86_64, false},
		{"8@(%rax,%ebx,4)", "a part of a register: %ebx", EM_X86_64, false},
		{"8@(%rax,%rsp)", "%rsp cannot be an index", EM_X86_64, false},
		{"8@(%rax,%rbx,3)", "3 is not a scale", EM_X86_64, false},
		{"8@(%rax,%rbx,0)", "0 is not a scale", EM_X86_64, false},
		{"8@(%rax,%rbx,-8)", "not a scale", EM_X86_64, false},
		{"8@(%rax,%rbx,4,1)", "more than a base", EM_X86_64, false},
		{"8@(rax)", "not a register", EM_X86_64, false},
		{"8@(%xmm0)", "does not see", EM_X86_64, false},
		{"8@()", "no operand", EM_X86_64, false},
		{"8@", "no operand", EM_X86_64, false},
		{"8@(%rax", "not understood", EM_X86_64, false},
		{"8@%rax)", "not a register", EM_X86_64, false},
		{"8@(%rax)x", "not understood", EM_X86_64, false},
		{"8@12x(%rax)", "12x is not a number", EM_X86_64, false},
		{"8@0x(%rax)", "0x is not a number", EM_X86_64, false},
		{"8@089(%rax)", "089 is not a number", EM_X86_64, false},
		{"8@99999999999999999999(%rax)", "not a number of 64 bits", EM_X86_64, false},
		{"8@$", "not among", EM_X86_64, true},
		{"8@$-", "not understood", EM_X86_64, false},
		{"8@*%rax", "not understood", EM_X86_64, false},
		{"8@[x22, 20]", "not understood", EM_X86_64, false},
		{"8@\"open(%rip)", "not understood", EM_X86_64, false},
		{"8@v0", "does not see register v0", EM_AARCH64, false},
		{"8f@d7", "does not see register d7", EM_AARCH64, false},
		{"4f@s31", "does not see", EM_AARCH64, false},
		{"8@x31", "neither a register nor a number", EM_AARCH64, false},
		{"8@x01", "neither a register", EM_AARCH64, false},
		{"8@[x19, #:lo12:.LANCHOR2]", "a part of a symbol's address", EM_AARCH64, false},
		{"8@[x19, :lo12:.LANCHOR2]", "a part of a symbol's address", EM_AARCH64, false},
		{"8@[x0, w1, sxtw 2]", "not an index register", EM_AARCH64, false},
		{"8@[x0, x1, sxtx 2]", "extended", EM_AARCH64, false},
		{"8@[x0, x1, lsl 9]", "not a shift", EM_AARCH64, false},
		{"8@[w0]", "not a base register", EM_AARCH64, false},
		{"8@[xzr, 8]", "not a base register", EM_AARCH64, false},
		{"8@[x0, sp]", "not an index register", EM_AARCH64, false},
		{"8@[x0, 8]!", "not understood", EM_AARCH64, false},
		{"8@[x0", "not understood", EM_AARCH64, false},
		{"8@[]", "not a base register", EM_AARCH64, false},
		{"8@%rax", "not understood", EM_AARCH64, false},
		{"8@r3", "machine 20", EM_PPC, false},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(list); i++) {
		struct sdtarg arg;
		read_one(list[i].text, list[i].machine, list[i].fixed, &arg);
		if (arg.arg.kind != UP_ARG_NONE || !strstr(arg.problem, list[i].problem))
			fail_msg("\"%s\": kind %u, \"%s\", not \"%s\"", list[i].text, arg.arg.kind,
				 arg.problem, list[i].problem);
	}
}

/* What an argument of a text is; "-" for one that cannot be read. */
static void describe(const char *text, uint16_t machine, char *out, size_t room)
{
	struct sdtarg_site site = {.machine = machine, .address = SITE, .symbol = symbol};
	struct sdtarg args[SDTARG_MOST];
	size_t n = sdtarg_parse(text, &site, args, N_ITEMS(args)), length = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && i < N_ITEMS(args); i++) {
		length += (size_t)snprintf(out + length, room - length, "%s%.*s%s", i ? "|" : "",
					   (int)args[i].operand_length, args[i].operand,
					   args[i].arg.kind ? "" : "-");
		assert_true((args[i].arg.kind == UP_ARG_NONE) == (args[i].problem[0] != '\0'));
	}
	assert_true(length < room);
}

static void texts_are_split_where_arguments_end(void **state)
{
	static const struct {
		const char *text, *parts;
		uint16_t machine;
	} list[] = {
		{"", "", EM_X86_64},
		{"  \t ", "", EM_X86_64},
		{"8@%rax", "%rax", EM_X86_64},
		{"8@%rdi -4@%esi", "%rdi|%esi", EM_X86_64},
		{"  8@%rdi\t \n-4@%esi  ", "%rdi|%esi", EM_X86_64},
		{"8@(%rsp) 8@8(%rsp)", "(%rsp)|8(%rsp)", EM_X86_64},
		{"8@ %rdi -4@ $-5 1@ $ 7", "%rdi|$-5|$ 7", EM_X86_64},
		{"8@8(%rax, %rbx, 4) 4@(, %rcx, 8)", "8(%rax, %rbx, 4)|(, %rcx, 8)", EM_X86_64},
		{"8@counter + 4(%rip) 8@%rax", "counter + 4(%rip)|%rax", EM_X86_64},
		{"%rax %ebx $5 %cl", "%rax|%ebx|$5|%cl", EM_X86_64},
		/* One that cannot be read does not touch those around it. */
		{"8@%rax 8@%xmm0 8@%rbx", "%rax|%xmm0-|%rbx", EM_X86_64},
		{"8@%rax 16@%rdx 4@%ebx", "%rax|%rdx-|%ebx", EM_X86_64},
		{"8@(%rax 8@%rbx", "(%rax-|%rbx", EM_X86_64},
		{"8@) 8@%rbx", ")-|%rbx", EM_X86_64},
		{"8@[x0, 8 8@%rbx", "[x0, 8-|%rbx", EM_X86_64},
		{"8@ 8@%rbx", "-|%rbx", EM_X86_64},
		{"8@%fs:0 4@counter(%rip)", "%fs:0-|counter(%rip)", EM_X86_64},
		{"2@[x22, 20] 8@x0 4@[sp] -4@3", "[x22, 20]|x0|[sp]|3", EM_AARCH64},
		{"8@[x0, x1, lsl 3] 8@v0 4@w1", "[x0, x1, lsl 3]|v0-|w1", EM_AARCH64},
		{"8@%rax \x01\xff\n 8@%rbx", "%rax|\x01\xff-|%rbx", EM_X86_64},
	};
	char parts[512];

	(void)state;
	for (size_t i = 0; i < N_ITEMS(list); i++) {
		describe(list[i].text, list[i].machine, parts, sizeof(parts));
		if (strcmp(parts, list[i].parts) != 0)
			fail_msg("\"%s\" is %s, not %s", list[i].text, parts, list[i].parts);
	}
}

/* More than twelve: all are read, up to the room; the others are counted. */
static void many_arguments_are_counted(void **state)
{
	struct sdtarg_site site = {.machine = EM_X86_64, .address = SITE};
	struct sdtarg args[SDTARG_MOST + 1] = {0};
	char text[4096] = "";

	(void)state;
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), 32, "-4@%d(%%rsp) ", 4 * i);
	args[SDTARG_MOST].operand = "untouched";
	assert_int_equal(sdtarg_parse(text, &site, args, SDTARG_MOST), 100);
	for (int i = 0; i < SDTARG_MOST; i++) {
		assert_int_equal(args[i].arg.kind, UP_ARG_MEMORY);
		assert_int_equal(args[i].arg.value, 4 * i);
	}
	assert_string_equal(args[SDTARG_MOST].operand, "untouched");
	assert_int_equal(sdtarg_parse(text, &site, NULL, 0), 100);
}

static void problems_are_cut_to_their_room(void **state)
{
	char text[4096];
	struct sdtarg arg;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "8@%", 3);
	read_one(text, EM_X86_64, false, &arg);
	assert_non_null(memchr(arg.problem, '\0', sizeof(arg.problem)));
	assert_non_null(strstr(arg.problem, "is not a register that is known"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_registers),
		cmocka_unit_test(x86_constants),
		cmocka_unit_test(x86_memory),
		cmocka_unit_test(x86_symbols),
		cmocka_unit_test(arm64_operands),
		cmocka_unit_test(what_cannot_be_read_says_why),
		cmocka_unit_test(texts_are_split_where_arguments_end),
		cmocka_unit_test(many_arguments_are_counted),
		cmocka_unit_test(problems_are_cut_to_their_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
