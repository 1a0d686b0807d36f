/* A library with a function of each kind that `exit: auto` tells apart. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int leaf(int x)
{
	__asm__ volatile("");
	return x * 3;
}

static NOINLINE int inner(int x)
{
	__asm__ volatile("");
	return x < 2 ? x : inner(x - 1) + inner(x - 2);
}

/* All that it calls is in this file. */
int closed(int x)
{
	return inner(x) + 1;
}

int recursive(int x)
{
	__asm__ volatile("");
	return x < 2 ? x : recursive(x - 1) + recursive(x - 2);
}

/* memcpy is known not to call back, and a failed check ends the process. */
__attribute__((optimize("stack-protector-all"))) int copies(const char *from, size_t n)
{
	char to[64];
	memcpy(to, from, n & 63);
	return to[n & 31];
}

int calls_import(int x)
{
	return puts("x") + x;
}

static NOINLINE int deep(int x)
{
	return calls_import(x) + 2;
}

int calls_import_deeply(int x)
{
	return deep(x) + 1;
}

int calls_pointer(int (*call)(int), int x)
{
	return call(x) + 1;
}

int jumps_on(const char *text)
{
	return puts(text);
}

int jumps_if(int x)
{
	if (x > 10)
		return puts("big");
	__asm__ volatile("");
	return x;
}

int switches(int x, int (*call)(int))
{
	switch (x) {
	case 0:
		return call(3);
	case 1:
		return call(5) + 1;
	case 2:
		return call(7) - 2;
	case 3:
		return call(11) * 3;
	case 4:
		return call(13) / 5;
	case 5:
		return call(17) ^ 7;
	case 6:
		return call(19) << 3;
	case 7:
		return call(23) | 9;
	}
	return 0;
}

void never_returns(void (*call)(void))
{
	for (;;)
		call();
}

__attribute__((visibility("hidden"))) NOINLINE void *asks_who_called(void)
{
	return __builtin_return_address(0);
}

void *jumps_to_one_who_asks(int x)
{
	__asm__ volatile("" : : "r"(x));
	return asks_who_called();
}
