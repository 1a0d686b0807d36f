/* Needs chain_b. */
int deep(int x);
int shallow(int x);

int shallow(int x)
{
	return deep(x) + 1;
}
