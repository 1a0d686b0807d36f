/* One program for each piece of evidence: compiled once with each -DUSES_… */
#include <dlfcn.h>
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

/* Under no name that tells. */
#ifdef USES_SWITCH
__attribute__((noinline)) void take(void **from, void **to)
{
#ifdef __x86_64__
	__asm__ volatile("mov %%rsp, (%0)\n	mov (%1), %%rsp" : : "r"(from), "r"(to) : "memory");
#else
	__asm__ volatile("mov x9, sp\n	str x9, [%0]\n	ldr x9, [%1]\n	mov sp, x9"
			 :
			 : "r"(from), "r"(to)
			 : "memory", "x9");
#endif
}
#endif

/* Arrays of variable length: what they take off the stack pointer is put back. */
#ifdef USES_VLA
__attribute__((noinline)) int arrays(int n)
{
	int sum = 0;

	for (int i = 1; i < n; i++) {
		char first[i];
		snprintf(first, sizeof(first), "%d", i);
		sum += first[0];
		for (int j = 1; j < i; j++) {
			char second[j];
			snprintf(second, sizeof(second), "%s", first);
			sum += second[0];
		}
	}
	return sum;
}
#endif

#ifdef USES_DLOPEN
static void open_plugin(const char *file)
{
	if (!dlopen(file, RTLD_NOW))
		puts(dlerror());
	puts("ready");
	fflush(stdout);
	getchar();
}
#endif

/* What plugins call. */
#ifdef EXPORTS
#define FOUR(n)                                                                                    \
	int served_##n##0(void)                                                                    \
	{                                                                                          \
		return n;                                                                          \
	}                                                                                          \
	int served_##n##1(void)                                                                    \
	{                                                                                          \
		return n;                                                                          \
	}                                                                                          \
	int served_##n##2(void)                                                                    \
	{                                                                                          \
		return n;                                                                          \
	}                                                                                          \
	int served_##n##3(void)                                                                    \
	{                                                                                          \
		return n;                                                                          \
	}
FOUR(1)
FOUR(2)
FOUR(3)
FOUR(4)
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
#ifdef USES_SWITCH
	if (argc > 100)
		take((void **)argv, (void **)argv + 1);
#endif
#ifdef USES_VLA
	printf("%d\n", arrays(argc));
#endif
#ifdef USES_DLOPEN
	if (argc > 1)
		open_plugin(argv[1]);
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
