/* A library with symbol versions: a default one, one old one only, and two without a default. */
int foo_1(void);
int foo_2(void);
int old_1(void);
int two_1(void);
int two_2(void);
int plain_versioned(void);

__attribute__((noinline)) int foo_1(void)
{
	return 1;
}
__attribute__((noinline)) int foo_2(void)
{
	return 2;
}
__attribute__((noinline)) int old_1(void)
{
	return 3;
}
__attribute__((noinline)) int two_1(void)
{
	return 4;
}
__attribute__((noinline)) int two_2(void)
{
	return 5;
}
__attribute__((noinline)) int plain_versioned(void)
{
	return 6;
}

__asm__(".symver foo_1, foo@V1");
__asm__(".symver foo_2, foo@@V2");
__asm__(".symver old_1, old@V1");
__asm__(".symver two_1, two@V1");
__asm__(".symver two_2, two@V2");
