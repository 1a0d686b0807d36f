/* An indirect function with two implementations. */
int pick(int x);

__attribute__((used)) static int pick_sse2(int x)
{
	return x + 2;
}

__attribute__((used)) static int pick_avx2(int x)
{
	return x + 3;
}

typedef int pick_function(int x);

__attribute__((used)) static pick_function *resolve_pick(void)
{
	return pick_sse2;
}

int pick(int x) __attribute__((ifunc("resolve_pick")));

int main(int argc, char **argv)
{
	(void)argv;
	return pick(argc) + pick_avx2(argc);
}
