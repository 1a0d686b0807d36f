/* Which errors speak of one site (bisect and go on) and which of the whole attempt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/linkset.h"

static void tells_site_errors(void **state)
{
	static const int of_site[] = {-524 /* ENOTSUPP */, -EINVAL, -EOPNOTSUPP, -EIO};
	static const int of_all[] = {0,	      -EPERM,  -EACCES, -ESRCH,
				     -ENOMEM, -EMFILE, -ENOENT, -ENOSYS};

	(void)state;
	for (size_t i = 0; i < sizeof(of_site) / sizeof(*of_site); i++)
		assert_true(linkset_error_is_of_site(of_site[i]));
	for (size_t i = 0; i < sizeof(of_all) / sizeof(*of_all); i++)
		assert_false(linkset_error_is_of_site(of_all[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_site_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
