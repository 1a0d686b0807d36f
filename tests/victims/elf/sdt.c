/*
 * USDT sites of every kind, their notes written by hand: they need no <sys/sdt.h>, and can be odd.
 * Functions are named after the sites they hold; a test finds the offsets by them.
 */
#include <stdio.h>

/* A nop with a note. The texts are the note's; `semaphore` is a symbol or 0. */
#define NOTE(at, provider, name, semaphore, args)                                                  \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"                                              \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte " at ", _.stapsdt.base, " semaphore "\n"                                      \
	".asciz \"" provider "\"\n"                                                                \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" args "\"\n"                                                                    \
	"994: .balign 4\n"                                                                         \
	".popsection\n"
#define BASE                                                                                       \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                    \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base,1\n"                                                                 \
	".popsection\n"                                                                            \
	".endif\n"
#define SITE(provider, name, semaphore, args)                                                      \
	__asm__ volatile("990: nop\n" NOTE("990b", provider, name, semaphore, args) BASE)

#define FUNCTION	__attribute__((noinline, noclone)) void

#define SEMAPHORE(name) __attribute__((section(".probes"), used)) volatile unsigned short name = 0
SEMAPHORE(first_semaphore);
SEMAPHORE(second_semaphore);
volatile unsigned short bss_semaphore;
__attribute__((section(".rodata"), used)) const unsigned short constant_semaphore = 1;

__attribute__((visibility("hidden"))) volatile int counter = 41;
static volatile int twin_here __asm__("twin") = 1;
_Thread_local volatile int per_thread;

FUNCTION plain(int a, int b)
{
	SITE("test", "plain", "0", "-4@%edi -4@%esi");
}

FUNCTION with_semaphore(void)
{
	SITE("test", "with_semaphore", "first_semaphore", "");
}

/* One name in three places, with three forms and two semaphores. */
FUNCTION three_a(void)
{
	SITE("test", "three", "first_semaphore", "-4@$1");
}

FUNCTION three_b(int a)
{
	SITE("test", "three", "second_semaphore", "-4@%edi");
}

FUNCTION three_c(void)
{
	SITE("test", "three", "first_semaphore", "-4@counter(%rip)");
}

FUNCTION other_provider(void)
{
	SITE("other", "plain", "0", "8@%rax");
}

/* What optimising at link time leaves: two equal notes; and two that differ. */
FUNCTION twice(void)
{
	__asm__ volatile("990: nop\n" NOTE("990b", "test", "twice", "0", "8@%rdi")
				 NOTE("990b", "test", "twice", "0", "8@%rdi"));
}

FUNCTION differs(void)
{
	__asm__ volatile("990: nop\n" NOTE("990b", "test", "differs", "0", "8@%rdi")
				 NOTE("990b", "test", "differs", "0", "8@%rsi"));
}

FUNCTION torn(void)
{
	__asm__ volatile("990: nop\n" NOTE("990b", "test", "torn", "first_semaphore", "")
				 NOTE("990b", "test", "torn", "second_semaphore", ""));
}

FUNCTION symbols(void)
{
	SITE("test", "symbols", "0",
	     "-4@counter(%rip) -4@twin(%rip) -4@counter+4(%rip) -4@per_thread(%rip) "
	     "-4@printf(%rip) -4@nowhere(%rip) 8@$counter 4@counter -4@$7");
}

/* On other instructions, inside one, and before a five-byte nop, which must not be touched. */
FUNCTION stepped(void)
{
	__asm__ volatile("990: lea 8(%%rsp), %%rax\n" NOTE("990b", "test", "stepped", "0", "")::
				 : "rax");
}

FUNCTION emulated(void)
{
	__asm__ volatile("990: push %%rax\npop %%rax\n" NOTE("990b", "test", "emulated", "0", "")::
				 : "memory");
}

FUNCTION locked(void)
{
	__asm__ volatile("990: lock incl counter(%%rip)\n" NOTE("990b", "test", "locked", "0", "")::
				 : "memory");
}

FUNCTION inside(void)
{
	__asm__ volatile(
		"990: movl $0x90909090, %%eax\n" NOTE("990b+1", "test", "inside", "0", "")::
			: "rax");
}

FUNCTION nop5(void)
{
	__asm__ volatile(
		"nop\n990: .byte 0x0f, 0x1f, 0x44, 0, 0\n" NOTE("990b", "test", "nop5", "0", ""));
}

FUNCTION before_nop5(void)
{
	__asm__ volatile("990: nop\n.byte 0x0f, 0x1f, 0x44, 0, 0\n" NOTE("990b", "test",
									 "before_nop5", "0", ""));
}

FUNCTION in_data(void)
{
	__asm__ volatile(NOTE("counter", "test", "in_data", "0", ""));
}

FUNCTION bss(void)
{
	SITE("test", "bss", "bss_semaphore", "");
}

FUNCTION constant(void)
{
	SITE("test", "constant", "constant_semaphore", "");
}

FUNCTION odd(void)
{
	SITE("test", "odd", "second_semaphore+1", "");
}

FUNCTION many(void)
{
	SITE("test", "many", "0",
	     "8@$1 8@$2 8@$3 8@$4 8@$5 8@$6 8@$7 8@$8 8@$9 8@$10 8@$11 8@$12 8@$13 8@$14");
}

FUNCTION hostile(void)
{
	SITE("hos\\033tile", "na\\nme\\302\\233", "0", "8@\\033[2J -4@$1");
}

int main(void)
{
	plain(1, 2);
	with_semaphore();
	three_a();
	three_b(2);
	three_c();
	other_provider();
	twice();
	differs();
	torn();
	symbols();
	stepped();
	emulated();
	locked();
	inside();
	nop5();
	before_nop5();
	in_data();
	bss();
	constant();
	odd();
	many();
	hostile();
	per_thread++;
	return printf("%d %d\n", counter, twin_here) < 0;
}
