/* A plain C program: functions of all sorts, data that must not be taken for functions. */
#include <stdlib.h>

#include "offsets.h"

int counter = 1;
__thread int per_thread;
const char table[] = "table";

__attribute__((noinline)) int first(int x)
{
	return x * 3 + counter;
}

__attribute__((noinline)) static int second_local(int x)
{
	return x * 5 + rand();
}

__attribute__((noinline, section(".text.hot"))) int in_hot(int x)
{
	return x + 7 * counter;
}

__attribute__((noinline, section(".other_code"))) int in_other(int x)
{
	return x + 9 * counter;
}

__attribute__((noinline)) int with_alias(int x)
{
	return x - counter;
}
int alias_of_it(int x) __attribute__((alias("with_alias")));
int weak_alias(int x) __attribute__((weak, alias("with_alias")));

__attribute__((noinline)) int fold_a(int x)
{
	return x * 11 + counter;
}

__attribute__((noinline)) int fold_b(int x)
{
	return x * 11 + counter;
}

int main(int argc, char **argv)
{
	(void)argv;
	per_thread = first(argc) + second_local(argc) + in_hot(argc) + in_other(argc) +
		     fold_a(argc) + fold_b(argc);
	PRINT_OFFSET(first);
	PRINT_OFFSET(second_local);
	PRINT_OFFSET(in_hot);
	PRINT_OFFSET(in_other);
	PRINT_OFFSET(with_alias);
	PRINT_OFFSET(fold_a);
	PRINT_OFFSET(fold_b);
	PRINT_OFFSET(main);
	return table[0] == per_thread;
}
