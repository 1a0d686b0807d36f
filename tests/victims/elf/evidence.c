/* One program for each piece of evidence: compiled once with each -DUSES_… */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <threads.h>
#include <ucontext.h>

/* Calls out, so that it depends on the evidence how it may be probed. */
__attribute__((noinline)) int victim(int x)
{
	return puts("victim") + x;
}

/* Does not, so that nothing can happen to its frame whatever else the program does. */
__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

#ifdef USES_CO_SWITCH
__attribute__((noinline)) void co_switch(void *to)
{
	__asm__ volatile("" : : "r"(to));
}
#endif

#ifdef USES_GO_SECTION
__attribute__((used, section(".gopclntab"))) static const char mark[] = "x";
#endif
#ifdef USES_GO_MAGIC
__attribute__((used, aligned(16))) static char mark[32] = "\xff Go buildinf:\x08\x02";
#endif

#ifdef USES_CLEANUP
static void close_it(int *x)
{
	printf("%d\n", *x);
}
#endif

static void *thread(void *unused)
{
#ifdef USES_PTHREAD_EXIT
	pthread_exit(NULL);
#endif
#ifdef USES_THRD_EXIT
	thrd_exit(0);
#endif
	return unused;
}

int main(int argc, char **argv)
{
	(void)argv;
#ifdef USES_CANCEL
	pthread_cancel(pthread_self());
#endif
#ifdef USES_CONTEXT
	ucontext_t a, b;
	getcontext(&a);
	swapcontext(&a, &b);
#endif
#ifdef USES_ALTSTACK
	stack_t stack = {0};
	sigaltstack(&stack, NULL);
#endif
#ifdef USES_CO_SWITCH
	co_switch(argv);
#endif
#ifdef USES_LONGJMP
	static jmp_buf here;
	if (setjmp(here) == 0)
		longjmp(here, victim(argc));
#endif
#ifdef USES_CLEANUP
	__attribute__((cleanup(close_it))) int x = argc;
	printf("%d\n", victim(x));
#endif
#ifdef USES_THREADS
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
#endif
	return victim(argc) + leaf(argc) + (argc > 100 && thread(NULL));
}
