/* Reading call frame information and exception tables, whole and damaged. */
#include "target/fde.h"

#include <errno.h>

#include "tests/unit/target/framed.h"

static void test_entries_are_found(void **state)
{
	static const struct {
		uint64_t address, begins;
	} cases[] = {
		{FUNCTION, FUNCTION},
		{FUNCTION + 20, FUNCTION},
		{FUNCTION + 21, 0},
		{COLD, COLD},
		{COLD + 7, 0},
		{FUNCTION - 1, 0},
		{0, 0},
		{UINT64_MAX, 0},
	};
	unsigned char file[ALL];
	struct image image;

	(void)state;
	make_file(file);
	open_bytes(&image, file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fde fde;
		int rc = fde_find(&image, cases[i].address, &fde);
		assert_int_equal(rc, cases[i].begins ? 0 : -ENOENT);
		if (rc != 0)
			continue;
		assert_int_equal(fde.address, cases[i].begins);
		assert_int_equal(fde.size,
				 fde.address == COLD ? sizeof(cold_code) : sizeof(function_code));
		assert_int_equal(fde.lsda, fde.address == COLD ? 0 : LSDA);
	}
	close_bytes(&image);
}

static void test_landing_pads(void **state)
{
	unsigned char file[ALL];
	struct image image;
	struct fde fde;
	fde_pads pads = {0};

	(void)state;
	make_file(file);
	open_bytes(&image, file);
	assert_int_equal(fde_find(&image, FUNCTION, &fde), 0);
	assert_int_equal(fde_landing_pads(&image, &fde, &pads), 0);
	assert_int_equal(pads.n, 1);
	assert_int_equal(pads.at[0].address, PAD);
	assert_int_equal(pads.at[0].site, FUNCTION + 9);
	assert_int_equal(pads.at[0].site_size, 5);
	vec_fini(&pads);
	assert_int_equal(fde_find(&image, COLD, &fde), 0);
	assert_int_equal(fde_landing_pads(&image, &fde, &pads), 0);
	assert_int_equal(pads.n, 0);
	close_bytes(&image);
}

static void test_forms_that_linkers_do_not_make(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
		int rc;
	} cases[] = {
		{HEADER, 2, -EOPNOTSUPP},     {HEADER + 1, 0xff, -EOPNOTSUPP},
		{HEADER + 2, 4, -EOPNOTSUPP}, {HEADER + 3, 0x1b, -EOPNOTSUPP},
		{FDE, 0, -EBADMSG},	/* no room for what an FDE has */
		{FDE + 4, 0, -EBADMSG}, /* a CIE, not an FDE */
		{CIE + 8, 9, -EOPNOTSUPP},    {CIE + 10, 'X', -EOPNOTSUPP},
		{CIE + 9, 'e', -EOPNOTSUPP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned char file[ALL];
		struct image image;
		struct fde fde;
		make_file(file);
		file[cases[i].at] = cases[i].value;
		open_bytes(&image, file);
		assert_int_equal(fde_find(&image, FUNCTION, &fde), cases[i].rc);
		close_bytes(&image);
	}
}

/* Whatever a byte of the tables is, nothing is read out of bounds; the sanitizers watch. */
static void test_damage(void **state)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};

	(void)state;
	for (size_t at = HEADER; at < FUNCTION; at++) {
		for (size_t i = 0; i < sizeof(values); i++) {
			unsigned char file[ALL];
			struct image image;
			struct fde fde;
			fde_pads pads = {0};
			make_file(file);
			if (file[at] == 0 && at > LSDA + 16)
				continue;
			file[at] = values[i];
			open_bytes(&image, file);
			if (fde_find(&image, FUNCTION, &fde) == 0) {
				assert_true(FUNCTION - fde.address < fde.size);
				fde_landing_pads(&image, &fde, &pads);
			}
			vec_fini(&pads);
			close_bytes(&image);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_are_found),
		cmocka_unit_test(test_landing_pads),
		cmocka_unit_test(test_forms_that_linkers_do_not_make),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
