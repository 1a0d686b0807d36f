/* rule.c: what the kernel is told of a filter's executable. */
#include "tests/unit/target/fake_proc.h"

#include "rule.h"

static char folder[] = "/tmp/uprobe_rule_XXXXXX", first[64], second[80], path[64];
static struct up_rule rule;
static struct rule_file file;
static struct spec_process spec = {.exe = path};

static void write_file(const char *name)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	fclose(out);
}

static void lead_to(const char *to)
{
	char new[80];

	snprintf(new, sizeof(new), "%s.new", path);
	assert_int_equal(symlink(to, new), 0);
	assert_int_equal(rename(new, path), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(first, sizeof(first), "%s/first", folder);
	snprintf(second, sizeof(second), "%s/second", folder);
	snprintf(path, sizeof(path), "%s/path", folder);
	file = (struct rule_file){0};
	rule_make(&rule, &spec, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_remove(folder);
	return 0;
}

static void a_file_comes_and_goes(void **state)
{
	(void)state;
	assert_false(rule_follow_exe(&rule, &spec, &file, false));
	write_file(path);
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_false(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "path");
	assert_false(rule_knows_others(&rule, &file));
	write_file(first);
	assert_int_equal(rename(first, path), 0);
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_true(rule_knows_others(&rule, &file)); /* the old one's */
	unlink(path);
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_int_equal(file.ino, 0);
	assert_true(rule_knows_others(&rule, &file));
}

static void a_link_is_switched(void **state)
{
	(void)state;
	write_file(first);
	write_file(second);
	lead_to("first");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "first");
	lead_to("second");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "second");
}

/* busybox: the inode is the same, and the name is not. */
static void a_link_is_switched_between_names_of_one_file(void **state)
{
	(void)state;
	write_file(first);
	assert_int_equal(link(first, second), 0);
	lead_to("first");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	lead_to("second");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "second");
	assert_false(rule_knows_others(&rule, &file));
	unlink(path);
	assert_int_equal(symlink("first", path), 0); /* with the number of the link before, often */
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "first");
}

/* A folder on the way is switched: the same file at another path. */
static void a_folder_is_switched(void **state)
{
	static struct spec_process through = {.exe = second};
	char from[80], to[80];

	(void)state;
	snprintf(from, sizeof(from), "%s/v1", folder);
	snprintf(to, sizeof(to), "%s/v2", folder);
	assert_int_equal(mkdir(from, 0755), 0);
	assert_int_equal(mkdir(to, 0755), 0);
	strcat(from, "/prog");
	strcat(to, "/prog");
	write_file(from);
	assert_int_equal(link(from, to), 0);
	lead_to("v1");
	snprintf(second, sizeof(second), "%s/prog", path);
	rule_make(&rule, &through, 0);
	assert_true(rule_follow_exe(&rule, &through, &file, true));
	assert_false(rule_follow_exe(&rule, &through, &file, true));
	lead_to("v2");
	assert_false(rule_follow_exe(&rule, &through, &file, false));
	assert_true(rule_follow_exe(&rule, &through, &file, true));
	assert_false(rule_knows_others(&rule, &file));
}

/* Another file that got the number of the one before has another time of change. */
static void other_times_are_looked_at(void **state)
{
	(void)state;
	write_file(first);
	lead_to("first");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_int_equal(rename(first, second), 0);
	unlink(path);
	lead_to("second");
	assert_true(rule_follow_exe(&rule, &spec, &file, false));
	assert_string_equal(rule.name, "second");
	assert_int_equal(chmod(second, 0755), 0);
	assert_false(rule_follow_exe(&rule, &spec, &file, false)); /* the same after all */
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(a_file_comes_and_goes),
		EACH(a_link_is_switched),
		EACH(a_link_is_switched_between_names_of_one_file),
		EACH(a_folder_is_switched),
		EACH(other_times_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
