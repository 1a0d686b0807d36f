/* A library with a C interface. Whoever is called in between does not see whether it throws. */
#include <vector>

struct noisy {
	~noisy();
	std::vector<int> *held;
};

noisy::~noisy()
{
	delete held;
}

/* It cleans up when something is thrown through it, but catches nothing. */
extern "C" long cleans_up(long (*callback)(long), long i)
{
	noisy here = {nullptr};

	return callback(i);
}

#ifdef CATCHES
extern "C" long throws(long i)
{
	throw i;
}

extern "C" long catches(long (*callback)(long), long i)
{
	try {
		return callback(i);
	} catch (long value) {
		return value;
	}
}
#endif
