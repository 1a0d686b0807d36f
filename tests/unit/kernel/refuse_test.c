/* Errors of the kernel as reasons and as words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/refuse.h"

#ifndef ENOTSUPP
#define ENOTSUPP                                                                                   \
	524 /* the kernel's own; what it says of an instruction that no probe can be on            \
	     */
#endif

static const struct {
	int error;
	enum reason of_a_probe, of_a_load;
} reasons[] = {
	{EPERM, REASON_PERMISSION, REASON_PERMISSION},
	{EACCES, REASON_PERMISSION, REASON_PERMISSION},
	{ENOSYS, REASON_PERMISSION, REASON_PERMISSION},
	{ESRCH, REASON_PROCESS_NOT_FOUND, REASON_KERNEL_UNSUPPORTED},
	{ENOENT, REASON_BINARY_NOT_FOUND, REASON_KERNEL_UNSUPPORTED},
	{ENOMEM, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{EMFILE, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{ENFILE, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{EAGAIN, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{EINTR, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{ECANCELED, REASON_OUT_OF_RESOURCES, REASON_OUT_OF_RESOURCES},
	{ENOTSUPP, REASON_KERNEL_REFUSED, REASON_KERNEL_UNSUPPORTED},
	{EINVAL, REASON_KERNEL_REFUSED, REASON_KERNEL_UNSUPPORTED},
	{EIO, REASON_KERNEL_REFUSED, REASON_KERNEL_UNSUPPORTED},
	{EOPNOTSUPP, REASON_KERNEL_REFUSED, REASON_KERNEL_UNSUPPORTED},
};

static void every_error_has_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		assert_string_equal(reason_name(refuse_reason(-reasons[i].error)),
				    reason_name(reasons[i].of_a_probe));
		assert_string_equal(reason_name(refuse_load_reason(-reasons[i].error)),
				    reason_name(reasons[i].of_a_load));
	}
}

/* The words beside the reason, and that whatever was there before is replaced. */
static void assert_words(int error, enum reason reason, const char *part)
{
	struct attach_result result = {.attached = true, .series = 5, .detail = "old"};

	refuse_for_error(&result, TIER_MULTI, -error);
	assert_false(result.attached);
	assert_int_equal(result.reason, reason);
	assert_int_equal(result.series, 5); /* it keeps its series: its counts stay readable */
	assert_non_null(strstr(result.detail, part));
	assert_null(strstr(result.detail, "old"));
}

static void errors_are_put_into_words(void **state)
{
	(void)state;
	assert_words(ENOTSUPP, REASON_KERNEL_REFUSED, "cannot probe the instruction");
	assert_words(ENOTSUPP, REASON_KERNEL_REFUSED, "524");
	assert_words(EINVAL, REASON_KERNEL_REFUSED, "semaphore");
	assert_words(ESRCH, REASON_PROCESS_NOT_FOUND, "has ended");
	assert_words(EMFILE, REASON_OUT_OF_RESOURCES, "RLIMIT_NOFILE");
	assert_words(ENOMEM, REASON_OUT_OF_RESOURCES, "limits.series");
}

static void long_details_are_cut(void **state)
{
	struct attach_result result = {.attached = true};
	char text[2 * sizeof(result.detail)];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	refuse(&result, REASON_LIMIT, "%s%d", text, 7);
	assert_false(result.attached);
	assert_int_equal(result.reason, REASON_LIMIT);
	assert_int_equal(strlen(result.detail), sizeof(result.detail) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_error_has_its_reason),
		cmocka_unit_test(errors_are_put_into_words),
		cmocka_unit_test(long_details_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
