/*
 * Functions of a C++ program, with an object to destroy and a callee that may throw: a return
 * probe on such a function kills the program when an exception passes through it. See calls.h.
 */
#include "calls.h"

#include <stdexcept>

static volatile int limit = -1, released;

struct guard {
	~guard()
	{
		released = released + 1;
	}
};

__attribute__((noinline, noclone)) static void check(int i)
{
	if (i == limit)
		throw std::runtime_error("limit");
}

#define ONE(kind, copy, first, last)                                                               \
	extern "C" __attribute__((noipa, used)) int kind##_##copy(int i)                           \
	{                                                                                          \
		guard g;                                                                           \
		check(i);                                                                          \
		return i + copy;                                                                   \
	}                                                                                          \
	static_assert(true)

EACH_COPY(ONE, cxx, , );

static const struct row rows[] = {{"cxx", COPY_NAMES(cxx)}};

int main()
{
	return answer_lines(rows, sizeof(rows) / sizeof(*rows));
}
