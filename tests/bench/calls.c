/*
 * Functions of a plain C program, one for each way that a function can begin: the first
 * instruction decides what the kernel has to do at a probe. See calls.h.
 */
#include "calls.h"

/* KIND_COPY: `first`, then a body of one instruction and ret. */
#define ONE(kind, copy, first, last)                                                               \
	__asm__(".text\n.balign 64\n.globl " #kind "_" #copy "\n"                                  \
		".type " #kind "_" #copy ", @function\n" #kind "_" #copy ":\n" first               \
		"\nmov %edi, %eax\n" last "\nret\n"                                                \
		".size " #kind "_" #copy ", .-" #kind "_" #copy "\n");                             \
	extern int kind##_##copy(int)

EACH_COPY(ONE, push, "push %rbp", "pop %rbp");
EACH_COPY(ONE, endbr, "endbr64\npush %rbp", "pop %rbp");
EACH_COPY(ONE, sub, "sub $24, %rsp", "add $24, %rsp");
EACH_COPY(ONE, lea, "lea 1(%rdi), %ecx", "");
EACH_COPY(ONE, nop5, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "");
EACH_COPY(ONE, nop, "nop", ""); /* as at a USDT site */

static const struct row rows[] = {
	{"push", COPY_NAMES(push)}, {"endbr", COPY_NAMES(endbr)}, {"sub", COPY_NAMES(sub)},
	{"lea", COPY_NAMES(lea)},   {"nop5", COPY_NAMES(nop5)},	  {"nop", COPY_NAMES(nop)},
};

int main(void)
{
	return answer_lines(rows, sizeof(rows) / sizeof(*rows));
}
