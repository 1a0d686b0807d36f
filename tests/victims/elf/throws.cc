// A C++ program, with a name that C code has as well.
#include <stdexcept>

int parse(int x)
{
	if (x > 1)
		throw std::runtime_error("x");
	return x;
}

extern "C" int plain_name(int x)
{
	return x;
}

int main(int argc, char **)
{
	try {
		return parse(argc) - plain_name(argc);
	} catch (std::exception &) {
		return 2;
	}
}
