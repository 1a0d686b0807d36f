// A C++ library: what throws, what catches, and what does neither.
#include <stdexcept>
#include <string>

extern "C" int throws(int x)
{
	if (x > 10)
		throw std::out_of_range("x");
	return x;
}

extern "C" int catches(int x)
{
	try {
		return throws(x);
	} catch (const std::exception &) {
		return -1;
	}
}

extern "C" int cxx_leaf(int x)
{
	return x * 5 + 1;
}

std::string builds(const std::string &text, int n)
{
	std::string all;
	for (int i = 0; i < n; i++)
		all += text;
	return all;
}
