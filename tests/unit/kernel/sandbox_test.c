/* The sacrificed child: what it calls decides whether its seccomp filter kills it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/sandbox.h"

static void does_nothing(void)
{
}

static void makes_a_system_call(void)
{
	syscall(SYS_getppid);
}

static void survives_what_is_harmless(void **state)
{
	struct sandbox sandbox = sandbox_new(does_nothing);

	(void)state;
	assert_true(sandbox.pid > 0);
	assert_true(sandbox_survives(&sandbox));
}

static void dies_of_a_foreign_system_call(void **state)
{
	struct sandbox sandbox = sandbox_new(makes_a_system_call);

	(void)state;
	assert_true(sandbox.pid > 0);
	assert_false(sandbox_survives(&sandbox));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_what_is_harmless),
		cmocka_unit_test(dies_of_a_foreign_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
