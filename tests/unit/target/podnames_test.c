/* podnames.c: the kubelet's folder, read again for what is new. */
#include "fake_proc.h"

#include "target/podnames.h"

#define A "2b801b7a-5266-4386-864e-45ed71136371"
#define B "8d8f6e3d1b1e4a6a8a9bd6c2b6ab35b7"

static char folder[] = "/tmp/podnames.XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fake_remove(folder);
	return 0;
}

static void make(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void names_are_found(void **state)
{
	struct podnames *pods = podnames_new(folder, UINT64_MAX);

	(void)state;
	make("default_web-0_" A);
	make("kube-system_etcd-node.example_" B);
	make("nonsense");
	make("one_two");
	make("__x");
	make("a_b_c_d");
	assert_string_equal(podnames_find(pods, A)->name, "web-0");
	assert_string_equal(podnames_find(pods, A)->namespace, "default");
	assert_string_equal(podnames_find(pods, B)->name, "etcd-node.example");
	assert_string_equal(podnames_find(pods, B)->namespace, "kube-system");
	assert_null(podnames_find(pods, "x"));
	assert_null(podnames_find(pods, "c_d"));
	assert_null(podnames_find(pods, ""));
	podnames_free(pods);
}

static void new_pods_are_read_but_not_too_often(void **state)
{
	struct podnames *pods = podnames_new(folder, 50 * 1000000);

	(void)state;
	assert_null(podnames_find(pods, A));
	make("default_web-0_" A);
	assert_null(podnames_find(pods, A)); /* read a moment ago */
	usleep(60000);
	assert_non_null(podnames_find(pods, A));
	fake_remove(folder);
	usleep(60000);
	assert_string_equal(podnames_find(pods, A)->name, "web-0"); /* known */
	assert_null(podnames_find(pods, B)); /* reads again: there is no folder */
	assert_null(podnames_find(pods, A));
	podnames_free(pods);
}

/* A pod that nobody has asked for yet has just begun. */
static void a_pod_that_is_asked_for_first_is_read_at_once(void **state)
{
	struct podnames *pods = podnames_new(folder, 1000000 * 1000000ULL);

	(void)state;
	assert_false(podnames_may_come(pods));
	assert_null(podnames_find(pods, A));
	assert_true(podnames_may_come(pods));
	make("default_web-0_" A);
	make("default_web-1_" B);
	assert_string_equal(podnames_find(pods, B)->name, "web-1");
	assert_string_equal(podnames_find(pods, A)->name, "web-0"); /* read with it */
	assert_false(podnames_may_come(pods));
	podnames_free(pods);
}

static void without_a_folder_nothing_is_known(void **state)
{
	struct podnames *pods = podnames_new("/nonexistent/pods", 0);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_null(podnames_find(pods, A));
	podnames_free(pods);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(names_are_found),
		EACH(new_pods_are_read_but_not_too_often),
		EACH(a_pod_that_is_asked_for_first_is_read_at_once),
		EACH(without_a_folder_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
