/* See twin_a.c. */
int twin_b(int x);
int mixed(int x);

__attribute__((noinline)) static int helper(int x)
{
	__asm__ volatile("nop; nop; nop");
	return x * 2;
}

__attribute__((noinline)) int mixed(int x)
{
	__asm__ volatile("nop; nop; nop; nop");
	return x * 4;
}

int twin_b(int x)
{
	return helper(x) + mixed(x);
}
