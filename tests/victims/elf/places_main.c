/* Calls what places.S has. */
int leaf(long), patched(int), unknown(int);
void locked(int *);

int main(int argc, char **argv)
{
	(void)argv;
	locked(&argc);
	return leaf(argc) + patched(argc) + unknown(argc);
}
