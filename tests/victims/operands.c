/*
 * An argument of every form, with a known value: operands [CALLS]. Each form is a probe NAME__start
 * with that argument, followed by NAME__end with the same value in a plain register. Paired by
 * their arguments, every end finds its start if, and only if, the argument was read right.
 */
#include "victim.h"

#include "notes.h"

/* A value whose parts all differ, and whose parts are negative when their sign is looked at. */
#define VALUE 0x8192a3b4c5d6e7f8

static __attribute__((used)) int64_t number = (int64_t)VALUE;
static __attribute__((used)) int64_t numbers[4] = {1, 2, (int64_t)VALUE, 4};
static __attribute__((used)) float fraction = 1.5F;

/* `prepare` may use rax, rcx, r9 and r12, and what it pushes it pops in `restore`. */
#define FORM(name, prepare, argument, restore, value)                                              \
	PROBED void form_##name(void)                                                              \
	{                                                                                          \
		__asm__ volatile(                                                                  \
			prepare MARK("operands", #name "__start", "0", argument) restore           \
			"movq %0, %%rax\n" MARK("operands", #name "__end", "0", "8@%%rax")         \
			:                                                                          \
			: "r"((uint64_t)(value))                                                   \
			: "rax", "rcx", "r9", "r12", "memory");                                    \
	}

#define LOAD(reg)     "movabsq $0x8192a3b4c5d6e7f8, %%" reg "\n"
#define AT(reg, what) "leaq " what "(%%rip), %%" reg "\n"
#define INDEX(n)      "movq $" n ", %%rcx\n"

#define FORMS(X)                                                                                   \
	X(q, LOAD("rax"), "8@%%rax", "", VALUE)                                                    \
	X(sq, LOAD("r12"), "-8@%%r12", "", VALUE)                                                  \
	X(l, LOAD("rax"), "4@%%eax", "", 0xc5d6e7f8)                                               \
	X(sl, LOAD("r9"), "-4@%%r9d", "", 0xffffffffc5d6e7f8)                                      \
	X(w, LOAD("r9"), "2@%%r9w", "", 0xe7f8)                                                    \
	X(sw, LOAD("rax"), "-2@%%ax", "", 0xffffffffffffe7f8)                                      \
	X(b, LOAD("r12"), "1@%%r12b", "", 0xf8)                                                    \
	X(sb, LOAD("rcx"), "-1@%%cl", "", 0xfffffffffffffff8)                                      \
	X(high, LOAD("rax"), "1@%%ah", "", 0xe7)                                                   \
	X(shigh, LOAD("rcx"), "-1@%%ch", "", 0xffffffffffffffe7)                                   \
	X(narrow, LOAD("rax"), "4@%%rax", "", 0xc5d6e7f8)                                          \
	X(imm, "", "8@$42", "", 42)                                                                \
	X(negative, "", "-4@$-42", "", -42)                                                        \
	X(hex, "", "4@$0x1f", "", 31)                                                              \
	X(cut, "", "1@$300", "", 44)                                                               \
	X(at, AT("rax", "number"), "8@(%%rax)", "", VALUE)                                         \
	X(offset, AT("rax", "numbers"), "8@16(%%rax)", "", VALUE)                                  \
	X(below, AT("rax", "numbers+24"), "-8@-8(%%rax)", "", VALUE)                               \
	X(hexoff, AT("rax", "numbers"), "4@0x10(%%rax)", "", 0xc5d6e7f8)                           \
	X(sib, AT("rax", "numbers") INDEX("2"), "8@(%%rax,%%rcx,8)", "", VALUE)                    \
	X(sibone, AT("rax", "numbers") INDEX("16"), "-2@(%%rax,%%rcx)", "", 0xffffffffffffe7f8)    \
	X(siboff, AT("rax", "numbers") INDEX("2"), "4@8(%%rax,%%rcx,4)", "", 0xc5d6e7f8)           \
	X(nobase, AT("rcx", "numbers"), "8@16(,%%rcx,1)", "", VALUE)                               \
	X(nobaseplain, AT("rcx", "number"), "8@(,%%rcx,1)", "", VALUE)                             \
	X(rip, "", "8@number(%%rip)", "", VALUE)                                                   \
	X(ripoff, "", "-4@numbers+16(%%rip)", "", 0xffffffffc5d6e7f8)                              \
	X(offrip, "", "4@16+numbers(%%rip)", "", 0xc5d6e7f8)                                       \
	X(stack, "subq $128, %%rsp\n" LOAD("rax") "pushq %%rax\n", "8@(%%rsp)",                    \
	  "addq $136, %%rsp\n", VALUE)                                                             \
	X(stackoff, "subq $128, %%rsp\n" LOAD("rax") "pushq %%rax\npushq $0\n", "-1@8(%%rsp)",     \
	  "addq $144, %%rsp\n", 0xfffffffffffffff8)                                                \
	X(fraction, AT("rax", "fraction"), "4f@(%%rax)", "", 0x3fc00000)                           \
	X(nosize, LOAD("rax"), "%%rax", "", VALUE)

FORMS(FORM)

/* The last of many arguments, and one behind an argument that no program can read. */
PROBED void form_many(void)
{
	__asm__ volatile("movq %0, %%rax\n" MARK("operands", "many__start", "0",
						 "1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 "
						 "1@$10 1@$11 1@$12 1@$13 8@%%rax")
				 MARK("operands", "many__end", "0", "8@%%rax")
			 :
			 : "r"(VALUE)
			 : "rax");
}

PROBED void form_odd(void)
{
	__asm__ volatile("movq %0, %%rax\n" MARK("operands", "odd__start", "0",
						 "8f@%%xmm0 4@%%fs:16 what?ever 8@%%rax")
				 MARK("operands", "odd__end", "0", "8@%%rax")
			 :
			 : "r"(VALUE)
			 : "rax");
}

#define CALL(name, ...) form_##name();
#define NAME(name, ...) #name " "

int main(int argc, char **argv)
{
	long n_calls = argument(argc, argv, 1, 100);

	if (argc > 2) {
		say("%s\n", FORMS(NAME) "many odd");
		return 0;
	}
	for (bool more = ready(); more; more = next_round()) {
		for (long i = 0; i < n_calls; i++) {
			FORMS(CALL)
			form_many();
			form_odd();
		}
		say("{\"each\":%ld}\n", n_calls);
	}
	return 0;
}
