/* A program whose sites are in the library that it needs: `plain` of sdt.c. */
extern void plain(int a, int b);

int main(void)
{
	plain(1, 2);
	return 0;
}
