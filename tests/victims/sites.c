/*
 * Functions written by hand, for the places where a probe must or must not go: sites [CALLS]. Each
 * round calls each of them CALLS times. x86-64; elsewhere there is nothing in it.
 */
#include "victim.h"

#include <string.h>

#define FUNCTION(name, text)                                                                       \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", @function\n" name ":\n" text  \
		"\n.size " name ", . - " name "\n")

#if defined(__x86_64__)
/* A loop whose head is the cheap instruction after endbr64: as many turns as rdi says. */
FUNCTION("loop_push", "endbr64\n1: pushq %rdi\n popq %rax\n decq %rdi\n jnz 1b\n ret");
FUNCTION("loop_nop", "endbr64\n1: nop\n leaq 1(%rdi), %rax\n decq %rdi\n jnz 1b\n ret");
/* The same, and the jump back comes from the part that was split off. */
__asm__(".section .text.unlikely, \"ax\"\n.type loop_cold.cold, @function\nloop_cold.cold:\n"
	"decq %rdi\n jnz loop_cold_head\n movq $1, %rax\n ret\n"
	".size loop_cold.cold, . - loop_cold.cold\n");
FUNCTION("loop_cold", "endbr64\nloop_cold_head: nop\n testq %rdi, %rdi\n jnz loop_cold.cold\n ret");
/* A loop whose head is the very first instruction: every turn looks like a call. */
FUNCTION("loop_start", "pushq %rdi\n popq %rax\n decq %rdi\n jnz loop_start\n ret");
/* Another function begins where the probe would like to go. */
FUNCTION("long_way", "endbr64\n.globl short_way\n.type short_way, @function\nshort_way:\n"
		     "nop\n movq %rdi, %rax\n ret\n.size short_way, . - short_way");
/* Below the stack pointer there is data while the five-byte nop in the body runs. */
FUNCTION("red_zone", "movq %rdi, -8(%rsp)\n movq %rdi, -16(%rsp)\n.globl red_zone_nop\n"
		     "red_zone_nop: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
		     "movq -8(%rsp), %rax\n addq -16(%rsp), %rax\n ret");
/* Five-byte nops at the start, where nothing is below the stack pointer yet. */
FUNCTION("nop_start", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n movq %rdi, -8(%rsp)\n"
		      "addq %rdi, -8(%rsp)\n movq -8(%rsp), %rax\n ret");
FUNCTION("nop_endbr", "endbr64\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n movq %rdi, -8(%rsp)\n"
		      "addq %rdi, -8(%rsp)\n movq -8(%rsp), %rax\n ret");
/* First instructions that the kernel does not take a probe on, or takes and never fires. */
FUNCTION("locked", "lock incq place(%rip)\n movq %rdi, %rax\n ret");
FUNCTION("prefixed", ".byte 0x3e, 0x89, 0xf8\n ret"); /* ds mov %edi, %eax */
/* Exits of every kind. */
FUNCTION("callee", "leaq 7(%rdi), %rax\n ret");
FUNCTION("if_tail", "testq $1, %rdi\n je callee\n leaq 1(%rdi), %rax\n ret");
FUNCTION("if_tail_stack", "pushq %rbx\n movq %rdi, %rbx\n testq $2, %rdi\n popq %rbx\n"
			  "jne callee\n movq %rdi, %rax\n ret");
FUNCTION("by_register", "leaq callee(%rip), %rax\n jmp *%rax");
FUNCTION("by_memory", "jmp *pointer(%rip)");
FUNCTION("rep_ret", "movq %rdi, %rax\n rep ret");
FUNCTION("bnd_ret", "movq %rdi, %rax\n bnd ret");
FUNCTION("two_rets",
	 "pushq %rbp\n pushq %rbx\n testq $3, %rdi\n jne 1f\n movq %rdi, %rax\n"
	 "popq %rbx\n popq %rbp\n ret\n1: leaq 2(%rdi), %rax\n popq %rbx\n popq %rbp\n ret");
FUNCTION("frame", "pushq %rbp\n movq %rsp, %rbp\n subq $48, %rsp\n andq $-32, %rsp\n"
		  "movq %rdi, (%rsp)\n movq (%rsp), %rax\n leave\n ret");
/* The callee takes its argument off the stack. */
FUNCTION("pops", "movq 8(%rsp), %rax\n ret $16");
FUNCTION("call_pops", "subq $8, %rsp\n pushq $0\n pushq %rdi\n call pops\n addq $8, %rsp\n ret");

long place;
long callee(long x);
long (*pointer)(long) = callee;

#define ALL(do)                                                                                                                                               \
	do                                                                                                                                                    \
	(loop_push) do(loop_nop) do(loop_cold) do(loop_start) do(long_way) do(short_way) do(red_zone) do(nop_start) do(nop_endbr) do(locked) do(prefixed) do( \
		callee) do(if_tail) do(if_tail_stack) do(by_register) do(by_memory) do(rep_ret) do(bnd_ret) do(two_rets) do(frame) do(call_pops)
#define DECLARE(name) long name(long);
#define ROW(name)     {#name, name},

ALL(DECLARE)
static const struct row {
	const char *name;
	long (*call)(long);
} rows[] = {ALL(ROW)};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
#else
static const struct row {
	const char *name;
	long (*call)(long);
} rows[1];
enum { ROWS = 0 };
#endif

/* How often the functions are called by one another, besides by main. */
static long extra(const char *name, long calls)
{
	long by_if_tail = (calls + 1) / 2, by_stack = calls / 4 * 2;

	if (strcmp(name, "short_way") == 0) /* long_way runs into it */
		return calls;
	return strcmp(name, "callee") == 0 ? by_if_tail + by_stack + 2 * calls : 0;
}

static void one_round(long calls)
{
	for (int r = 0; r < ROWS; r++) {
		long sum = 0, n = calls + extra(rows[r].name, calls);

		for (long i = 0; i < calls; i++) {
			long x = strncmp(rows[r].name, "loop", 4) == 0 ? i % 5 + 1 : i;
			sum = (sum * 31 + rows[r].call(x)) % 1000003;
		}
		say("{\"calls\":{\"%s\":%ld},\"returned\":{\"%s\":%ld},\"result\":%ld}\n",
		    rows[r].name, n, rows[r].name, n, sum);
	}
	if (ROWS) /* by call_pops; C cannot call it */
		say("{\"calls\":{\"pops\":%ld},\"returned\":{\"pops\":%ld},\"result\":0}\n", calls,
		    calls);
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 1, 10000) / 4 * 4;

	for (bool more = ready(); more; more = next_round())
		one_round(calls);
	return 0;
}
