/* gcc -O2 makes big.constprop.0 and the .cold parts, and inlines `sq` everywhere. */
#include <stdio.h>
#include <stdlib.h>

static int sq(int x)
{
	return x * x;
}

__attribute__((cold, noreturn, noinline)) static void give_up(int x)
{
	fprintf(stderr, "%d\n", x);
	abort();
}

__attribute__((noinline)) static int big(int x, int y)
{
	for (int i = 0; i < 10; i++) {
		x = x * y + rand();
		if (x == 123456)
			give_up(x + i);
	}
	return x;
}

int Upper_Case(int x);

__attribute__((noinline)) int Upper_Case(int x)
{
	if (x == 99) {
		fprintf(stderr, "odd %d\n", x);
		give_up(x);
	}
	return big(x, 42) + sq(x);
}

int main(int argc, char **argv)
{
	(void)argv;
	return big(argc, 42) + Upper_Case(argc);
}
