/*
 * libiberty's demanglers, called in the form that hands out its text piece by piece: it takes no
 * memory from the heap but for punycode, so that an endless result can be left by a jump.
 */
#include "target/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
	char *text;
	size_t length;
	jmp_buf overrun;
};

static void take(const char *piece, size_t length, void *context)
{
	struct output *output = context;

	if (length >= DEMANGLE_LONGEST_TEXT - output->length)
		longjmp(output->overrun, 1);
	if (length)
		memcpy(output->text + output->length, piece, length);
	output->length += length;
}

/*
 * Rust's older mangling looks like C++, so Rust is asked first. libiberty's limit on recursion in
 * C++ names is in truth one of 1 KiB on their length; ours of 4 KiB bounds the depth as well. Its
 * limit for Rust, where a name may refer to itself, stays.
 */
static bool run(const char *mangled, int options, struct output *output)
{
	if (!rust_demangle_callback(mangled, options, take, output)) {
		output->length = 0;
		if (!cplus_demangle_v3_callback(mangled, options | DMGL_NO_RECURSE_LIMIT, take,
						output))
			return false;
	}
	output->text[output->length] = '\0';
	return output->length > 0;
}

static const char *demangle(struct demangler *demangler, const char *name, size_t length,
			    int options, char *text)
{
	char mangled[DEMANGLE_LONGEST_NAME + 1];
	struct output output;

	if (length < 3 || length > DEMANGLE_LONGEST_NAME || name[0] != '_' ||
	    (name[1] != 'Z' && name[1] != 'R') || demangler->overruns >= DEMANGLE_MOST_OVERRUN)
		return NULL;
	output.text = text;
	output.length = 0;
	memcpy(mangled, name, length);
	mangled[length] = '\0';
	if (setjmp(output.overrun)) {
		demangler->overruns++;
		return NULL;
	}
	return run(mangled, options, &output) ? text : NULL;
}

const char *demangle_full(struct demangler *demangler, const char *name, size_t length)
{
	return demangle(demangler, name, length, DMGL_PARAMS | DMGL_ANSI, demangler->full);
}

const char *demangle_bare(struct demangler *demangler, const char *name, size_t length)
{
	return demangle(demangler, name, length, DMGL_ANSI, demangler->bare);
}
