/* Imports a function of a library that only a needed library needs. */
int deep(int x);
int shallow(int x);

int main(int argc, char **argv)
{
	(void)argv;
	return deep(argc) + shallow(argc);
}
