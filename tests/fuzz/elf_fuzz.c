/*
 * Any bytes as a target file: every pass of the resolver and the listing over them. Nothing is
 * expected but that it ends, in bounds.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>

#include "target/expand.h"
#include "target/inspect.h"
#include "target/list.h"
#include "target/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void inspect(int fd, const char *path)
{
	static const char *const texts[] = {
		"f",	 "first",  "foo",  "foo@V1", "foo@@V2", "two", "puts", "pick",	"counter",
		"fisrt", "helper", "main", "x.cold", "no_type", "",    "@",    "_start"};
	enum { N = sizeof(texts) / sizeof(*texts) };
	struct inspect_wanted wanted[N] = {0};
	struct plan_file file = {.path = path, .fd = fd};
	struct inspect_facts facts;
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; i < N; i++)
		wanted[i].text = texts[i];
	inspect_file(&file, wanted, N, &arena, &facts);
	for (size_t i = 0; i < N; i++)
		if (!wanted[i].reason == !!wanted[i].detail ||
		    (!wanted[i].reason && !wanted[i].symbol))
			__builtin_trap(); /* an answer without a text, or a text without an answer
					   */
	arena_fini(&arena);
}

/* Patterns and places; one of them where the file says that it begins. */
static void expand(int fd, const char *path, const uint8_t *bytes, size_t size)
{
	struct spec_function function[] = {
		{.by = BY_SYMBOL, .symbol = "f", .label = "f"},
		{.by = BY_MATCH, .symbol = "*", .label = "*", .max = 100},
		{.by = BY_MATCH, .symbol = "*f?r*", .label = "g", .max = 5},
		{.by = BY_OFFSET, .position = 0x1001, .label = "o", .exit = EXIT_NONE},
		{.by = BY_OFFSET, .position = 0x1139, .label = "p", .exit = EXIT_URETPROBE},
		{.by = BY_ADDRESS, .label = "a", .exit = EXIT_NONE},
	};
	enum { N = sizeof(function) / sizeof(*function) };
	struct expansion expansion[N] = {0}, *list[N];
	struct plan_file file = {.path = path, .fd = fd, .build_id = ""};
	struct arena arena;

	if (size >= 32)
		memcpy(&function[N - 1].position, bytes + 24, 8); /* e_entry */
	for (size_t i = 0; i < N; i++) {
		expansion[i].function = &function[i];
		list[i] = &expansion[i];
	}
	arena_init(&arena);
	expand_functions(&file, list, N, &arena);
	merge_target(list, N, &arena);
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < expansion[i].n; j++)
			if (function[i].by == BY_MATCH && !expansion[i].wanted[j].reason &&
			    !expansion[i].wanted[j].label)
				__builtin_trap();
	arena_fini(&arena);
}

static void count(void *context, const struct list_file *file, const struct list_function *function)
{
	(void)file;
	for (size_t i = 0; i < function->n_names; i++)
		*(size_t *)context += strlen(function->names[i]);
}

static void list(const char *path)
{
	struct list_file file;
	struct arena arena;
	struct err err = {0};
	size_t total = 0;

	arena_init(&arena);
	list_functions(path, "*", count, &total, &arena, &file, &err);
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int fd = -1;
	char path[64];

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		return 0;
	inspect(fd, path);
	expand(fd, path, bytes, size);
	list(path);
	return 0;
}
