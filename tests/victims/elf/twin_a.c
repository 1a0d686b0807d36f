/* Two files with a static function of one name, and one that is global in the other file. */
#include "offsets.h"

int twin_b(int x);

__attribute__((noinline)) static int helper(int x)
{
	__asm__ volatile("nop");
	return x + 1;
}

__attribute__((noinline)) static int mixed(int x)
{
	__asm__ volatile("nop; nop");
	return x + 2;
}

int main(int argc, char **argv)
{
	(void)argv;
	return twin_b(helper(argc)) + mixed(argc) == 0;
}
