/* A library that switches stacks, in one of two ways. */
#ifdef SWAPS
#include <ucontext.h>

void takes(ucontext_t *from, ucontext_t *to)
{
	swapcontext(from, to);
}
#else
void takes(void **from, void **to);
__asm__(".text\n.globl takes\n.type takes, %function\ntakes:\n"
#ifdef __x86_64__
	"	movq %rsp, (%rdi)\n	movq (%rsi), %rsp\n"
#else
	"	mov x9, sp\n	str x9, [x0]\n	ldr x9, [x1]\n	mov sp, x9\n"
#endif
	"	ret\n.size takes, . - takes\n");
#endif
