/* Defines what chain_app imports. */
int deep(int x);

int deep(int x)
{
	return x;
}
