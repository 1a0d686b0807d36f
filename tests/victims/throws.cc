/*
 * C++ exceptions and probed functions: throws MODE [CALLS] [LIBRARY].
 *     leave    every second call is left by an exception, which the caller catches
 *     guarded  the same through a frame with a destructor to run
 *     catcher  every second call throws and catches inside
 *     rethrow  catches, and throws again to the caller
 *     deep     an exception passes through five calls of `nested`
 *     visit    through the C function `visit` of libvisit.so, which calls back
 *     resumed  coroutines, whose body calls `leave` and passes its exceptions on
 */
#include "victim.h"

#include <coroutine>
#include <cstring>
#include <dlfcn.h>
#include <exception>

static long destroyed;
static volatile long sink;

struct Fault {
	long value;
};

struct Guard {
	~Guard()
	{
		destroyed++;
	}
};

extern "C" {

PROBED void fail(long i)
{
	if (i % 2)
		throw Fault{i};
}

PROBED long leave(long i)
{
	sink = i;
	fail(i);
	sink = i;
	return i * 3;
}

PROBED long guarded(long i)
{
	Guard guard;

	fail(i);
	return i * 5;
}

PROBED long catcher(long i)
{
	try {
		fail(i);
	} catch (const Fault &fault) {
		return fault.value + 1;
	}
	return i;
}

PROBED long rethrow(long i)
{
	try {
		fail(i);
	} catch (const Fault &fault) {
		sink = fault.value;
		throw;
	}
	return i + 2;
}

PROBED long nested(long depth, long i)
{
	long below = depth > 1 ? nested(depth - 1, i) : leave(i);

	sink = below; /* work after the call, or it becomes a loop */
	return below + 1;
}

static long deep(long i)
{
	return nested(5, i);
}

static long (*visit_fn)(long (*)(long), long);

static long visit(long i)
{
	return visit_fn(leave, i);
}
}

/* A coroutine that is suspended once and then does its call. */
struct Task {
	struct promise_type {
		long value = 0;
		std::exception_ptr error;

		Task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_value(long v)
		{
			value = v;
		}
		void unhandled_exception()
		{
			error = std::current_exception();
		}
	};
	std::coroutine_handle<promise_type> handle;
};

static Task task(long i)
{
	long value = leave(i);

	co_await std::suspend_always{};
	co_return value + leave(i);
}

static long resumed(long i)
{
	Task t = task(i);

	while (!t.handle.done())
		t.handle.resume();
	long value = t.handle.promise().value;
	std::exception_ptr error = t.handle.promise().error;
	t.handle.destroy();
	if (error)
		std::rethrow_exception(error);
	return value;
}

/* What one outermost call amounts to for a function: calls, and returns of even and odd ones. */
struct Mode {
	const char *name;
	long (*call)(long);
	const char *function;
	int calls_even, calls_odd, returns_even, returns_odd;
};

static const Mode modes[] = {
	{"leave", leave, "leave", 1, 1, 1, 0},	     {"guarded", guarded, "guarded", 1, 1, 1, 0},
	{"catcher", catcher, "catcher", 1, 1, 1, 1}, {"rethrow", rethrow, "rethrow", 1, 1, 1, 0},
	{"deep", deep, "nested", 5, 5, 5, 0},	     {"visit", visit, "visit", 1, 1, 1, 0},
	{"resumed", resumed, "leave", 2, 1, 2, 0},
};

static long make_call(const Mode &mode, long i)
{
	try {
		return mode.call(i);
	} catch (const Fault &fault) {
		return fault.value * 7;
	}
}

static void one_round(const Mode &mode, long calls)
{
	long sum = 0, made = 0, back = 0;

	for (long i = 0; i < calls; i++) {
		sum = (sum * 31 + make_call(mode, i)) % 1000003;
		made += i % 2 ? mode.calls_odd : mode.calls_even;
		back += i % 2 ? mode.returns_odd : mode.returns_even;
	}
	say("{\"calls\":{\"%s\":%ld},\"returned\":{\"%s\":%ld},\"result\":%ld,\"destroyed\":%ld}\n",
	    mode.function, made, mode.function, back, sum, destroyed);
}

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 2, 10000);
	const Mode *mode = nullptr;

	for (const Mode &m : modes) {
		if (argc > 1 && !strcmp(argv[1], m.name))
			mode = &m;
	}
	void *library = argc > 3 ? dlopen(argv[3], RTLD_NOW) : nullptr;
	if (library)
		visit_fn = reinterpret_cast<decltype(visit_fn)>(dlsym(library, "visit"));
	if (!mode || (mode->call == visit && !visit_fn))
		return 2;
	for (bool more = ready(); more; more = next_round())
		one_round(*mode, calls);
	return 0;
}
