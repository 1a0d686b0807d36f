/* Arenas: zeroed, aligned, apart from each other, released at once. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void allocations_are_zeroed_and_apart(void **state)
{
	struct arena arena;
	unsigned char *at[500];

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < 500; i++) {
		at[i] = arena_alloc(&arena, i);
		assert_true((uintptr_t)at[i] % _Alignof(max_align_t) == 0);
		for (size_t j = 0; j < i; j++)
			assert_int_equal(at[i][j], 0);
		memset(at[i], (int)(i % 251) + 1, i);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_equal(at[i][j], i % 251 + 1);
	assert_int_equal(arena.used_bytes, 500 * 499 / 2);
	arena_fini(&arena);
	assert_int_equal(arena.used_bytes, 0);
}

static void large_allocations_fit(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena);
	uint64_t *many = arena_array(&arena, 1 << 20, sizeof(*many));
	many[(1 << 20) - 1] = 1;
	assert_non_null(arena_array(&arena, 0, sizeof(*many)));
	arena_fini(&arena);
}

static void texts_are_copied(void **state)
{
	struct arena arena;
	char source[] = "source";

	(void)state;
	arena_init(&arena);
	const char *copy = arena_strdup(&arena, source), *part = arena_strndup(&arena, source, 3);
	source[0] = 'X';
	assert_string_equal(copy, "source");
	assert_string_equal(part, "sou");
	assert_string_equal(arena_printf(&arena, "%s/%d", copy, 42), "source/42");
	arena_fini(&arena);
}

/* A product that does not fit ends the program: it never gives a short array. */
static void an_overflow_ends_the_program(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct arena arena;
		arena_init(&arena);
		close(STDERR_FILENO);
		arena_array(&arena, SIZE_MAX / 4, 8);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_zeroed_and_apart),
		cmocka_unit_test(large_allocations_fit),
		cmocka_unit_test(texts_are_copied),
		cmocka_unit_test(an_overflow_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
