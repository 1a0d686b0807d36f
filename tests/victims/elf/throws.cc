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

extern "C" int calls_out(int x)
{
	return parse(x) + 1;
}

int main(int argc, char **)
{
	try {
		return parse(argc) - plain_name(argc) + calls_out(argc);
	} catch (std::exception &) {
		return 2;
	}
}
