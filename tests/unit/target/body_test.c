/* A function with a part and a landing pad, put together from a file. */
#include "target/body.h"

#include "tests/unit/target/framed.h"

static void decode(struct body *body, struct image *image, const unsigned char *file, uint64_t size,
		   const uint64_t *functions, size_t n)
{
	open_bytes(image, file);
	body_decode(body, image, FUNCTION, size, functions, n);
}

static void test_parts_are_found(void **state)
{
	static const uint64_t sizes[] = {sizeof(function_code), 0}; /* of a symbol; by the FDE */
	unsigned char file[ALL];
	struct image image;
	struct body body;

	(void)state;
	make_file(file);
	for (size_t i = 0; i < 2; i++) {
		decode(&body, &image, file, sizes[i], NULL, 0);
		if (!body.code.complete)
			fail_msg("%s", body.code.why);
		assert_int_equal(body.n_regions, 2);
		assert_int_equal(body.region[1].address, COLD);
		assert_int_equal(body.code.exits.n, 2);
		assert_int_equal(body.code.exits.at[0].address, FUNCTION + 0xf);
		assert_int_equal(body.code.exits.at[1].address, COLD + 6);
		assert_true(body.code.exits.at[1].depth_known);
		body_free(&body);
		close_bytes(&image);
	}
}

static void test_without_the_exception_table_the_pad_is_unreached(void **state)
{
	unsigned char file[ALL];
	struct image image;
	struct body body;

	(void)state;
	make_file(file);
	put_fde(file, FDE, FUNCTION, sizeof(function_code), 0);
	decode(&body, &image, file, sizeof(function_code), NULL, 0);
	assert_false(body.code.complete);
	assert_non_null(strstr(body.code.why, "bytes from +0x10 on are not reached"));
	body_free(&body);
	close_bytes(&image);
}

/* A jump into another function with bytes on the stack does not make that a part. */
static void test_functions_are_no_parts(void **state)
{
	static const uint64_t functions[] = {FUNCTION, COLD};
	unsigned char file[ALL];
	struct image image;
	struct body body;

	(void)state;
	make_file(file);
	decode(&body, &image, file, sizeof(function_code), functions, 2);
	assert_false(body.code.complete);
	assert_int_equal(body.n_regions, 1);
	body_free(&body);
	close_bytes(&image);
}

static void test_what_is_not_in_the_file(void **state)
{
	unsigned char file[ALL];
	struct image image;
	struct body body;

	(void)state;
	make_file(file);
	decode(&body, &image, file, ALL, NULL, 0);
	assert_false(body.code.complete);
	assert_true(*body.code.why);
	body_free(&body);
	close_bytes(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_are_found),
		cmocka_unit_test(test_without_the_exception_table_the_pad_is_unreached),
		cmocka_unit_test(test_functions_are_no_parts),
		cmocka_unit_test(test_what_is_not_in_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
