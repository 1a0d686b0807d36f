/* suggest.c: near words are found, far ones are not. */
#include "common.h"

#include "config/suggest.h"

static void edits_are_counted(void **state)
{
	(void)state;
	assert_int_equal(suggest_distance("buckets", "buckets"), 0);
	assert_int_equal(suggest_distance("Buckets", "buckets"), 0);
	assert_int_equal(suggest_distance("bukets", "buckets"), 1);
	assert_int_equal(suggest_distance("bucketss", "buckets"), 1);
	assert_int_equal(suggest_distance("bockets", "buckets"), 1);
	assert_int_equal(suggest_distance("bcukets", "buckets"), 1);
	assert_int_equal(suggest_distance("symbls", "symbol"), 2);
}

static void far_words_are_far(void **state)
{
	char long_word[5000];

	(void)state;
	memset(long_word, 'a', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	assert_int_equal(suggest_distance("colour", "buckets"), SUGGEST_FAR);
	assert_int_equal(suggest_distance("", "pid"), SUGGEST_FAR);
	assert_int_equal(suggest_distance("x", "pid"), SUGGEST_FAR);
	assert_int_equal(suggest_distance("ab", "cd"), SUGGEST_FAR);
	assert_int_equal(suggest_distance(long_word, "a"), SUGGEST_FAR);
	assert_int_equal(suggest_distance(long_word, long_word), SUGGEST_FAR);
}

static void the_nearest_is_taken(void **state)
{
	static const char *const words[] = {"label", "labels", "name"};

	(void)state;
	assert_int_equal(suggest_nearest("labelz", words, 3), 0);
	assert_int_equal(suggest_nearest("labells", words, 3), 1);
	assert_int_equal(suggest_nearest("naem", words, 3), 2);
	assert_int_equal(suggest_nearest("binary", words, 3), -1);
	assert_int_equal(suggest_nearest("binary", words, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_counted),
		cmocka_unit_test(far_words_are_far),
		cmocka_unit_test(the_nearest_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
