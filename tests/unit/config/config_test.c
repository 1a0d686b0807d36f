/*
 * config.c: files of every kind, and the committed configs: tests/configs/bad/NAME.yaml must say
 * exactly NAME.expected, good ones must say nothing (or NAME.expected, warnings), and the example
 * configs that we ship must be right. Runs in the root of the source tree.
 */
#include "common.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static char folder[] = "/tmp/config_test.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static char *path_of(const char *in, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", in, name) > 0);
	return path;
}

/* NULL when there is none. */
static char *read_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	struct strbuf text;
	char part[4096];
	size_t n;

	if (!file)
		return NULL;
	strbuf_init(&text);
	while ((n = fread(part, 1, sizeof(part), file)))
		strbuf_add(&text, part, n);
	fclose(file);
	*length = text.length;
	return strbuf_take(&text);
}

/* ---- committed configs ---- */

static void compare(const char *in, const char *name, int want_rc)
{
	_cleanup_free_ char *path = path_of(in, name);
	_cleanup_free_ char *said = NULL;
	size_t length, expected_length = 0;
	_cleanup_free_ char *text = read_file(path, &length);
	struct strbuf diagnostics;
	struct spec *spec;

	assert_true(asprintf(&said, "%.*s.expected", (int)(strlen(path) - 5), path) > 0);
	_cleanup_free_ char *expected = read_file(said, &expected_length);
	strbuf_init(&diagnostics);
	assert_int_equal(config_parse(name, text, length, &spec, &diagnostics), want_rc);
	if (strcmp(strbuf_text(&diagnostics), expected ? expected : "") != 0)
		fail_msg("%s says\n%swant\n%s", name, strbuf_text(&diagnostics),
			 expected ? expected : "nothing\n");
	if (want_rc)
		assert_non_null(expected);
	strbuf_fini(&diagnostics);
	spec_free(spec);
}

/* Each *.yaml of a folder; how many. */
static int compare_all(const char *in, int want_rc)
{
	DIR *dir = opendir(in);
	struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		if (!dot || strcmp(dot, ".yaml") != 0)
			continue;
		compare(in, entry->d_name, want_rc);
		n++;
	}
	closedir(dir);
	return n;
}

static void bad_configs_say_what_is_expected(void **state)
{
	(void)state;
	assert_true(compare_all("tests/configs/bad", -EINVAL) >= 40);
}

static void good_configs_parse(void **state)
{
	(void)state;
	assert_true(compare_all("tests/configs/good", 0) >= 10);
}

static void example_configs_parse(void **state)
{
	(void)state;
	assert_true(compare_all("config", 0) >= 7);
}

/* ---- files ---- */

/* Load folder/name, which must fail with `rc` and say `said` behind its path; then remove it. */
static void check_load(const char *name, int rc, const char *said)
{
	_cleanup_free_ char *path = path_of(folder, name);
	struct strbuf diagnostics, expected;
	struct spec *spec = (struct spec *)&diagnostics;

	strbuf_init(&diagnostics);
	strbuf_init(&expected);
	strbuf_printf(&expected, "%s: %s\n", path, said);
	assert_int_equal(config_load(path, &spec, &diagnostics), rc);
	assert_null(spec);
	assert_string_equal(strbuf_text(&diagnostics), strbuf_text(&expected));
	strbuf_fini(&diagnostics);
	strbuf_fini(&expected);
	remove(path);
}

static void write_file(const char *name, const char *text, size_t length)
{
	_cleanup_free_ char *path = path_of(folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	fclose(file);
}

static void a_file_is_read(void **state)
{
	_cleanup_free_ char *path = path_of(folder, "right.yaml");
	struct strbuf diagnostics;
	struct spec *spec;

	(void)state;
	write_file("right.yaml", FUNCTION, strlen(FUNCTION));
	strbuf_init(&diagnostics);
	assert_int_equal(config_load(path, &spec, &diagnostics), 0);
	assert_string_equal(spec->file, path);
	assert_string_equal(strbuf_text(&diagnostics), "");
	spec_free(spec);
	strbuf_fini(&diagnostics);
	unlink(path);
}

static void other_things_than_files_are_named(void **state)
{
	_cleanup_free_ char *directory = path_of(folder, "directory");
	_cleanup_free_ char *fifo = path_of(folder, "fifo");
	_cleanup_free_ char *loop = path_of(folder, "loop");

	(void)state;
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink(loop, loop), 0);
	check_load("missing", -ENOENT, "cannot be opened: No such file or directory");
	check_load("directory", -EISDIR, "is a directory, not a file");
	alarm(10); /* a blocking open would wait for a writer for ever */
	check_load("fifo", -EINVAL, "is a pipe, not a file");
	alarm(0);
	check_load("loop", -ELOOP, "cannot be opened: Too many levels of symbolic links");
}

static void a_device_is_named(void **state)
{
	struct strbuf diagnostics;
	struct spec *spec;

	(void)state;
	strbuf_init(&diagnostics);
	assert_int_equal(config_load("/dev/zero", &spec, &diagnostics), -EINVAL);
	assert_string_equal(strbuf_text(&diagnostics), "/dev/zero: is a device, not a file\n");
	strbuf_fini(&diagnostics);
}

static void an_unreadable_file_is_named(void **state)
{
	_cleanup_free_ char *path = path_of(folder, "secret");
	uid_t uid = geteuid();

	(void)state;
	write_file("secret", FUNCTION, strlen(FUNCTION));
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	if (uid == 0)
		assert_int_equal(seteuid(65534), 0);
	check_load("secret", -EACCES, "cannot be opened: Permission denied");
	if (uid == 0)
		assert_int_equal(seteuid(0), 0);
	unlink(path);
}

/* ---- size ---- */

/* A right config of exactly `length` bytes, the rest a comment. */
static char *padded(size_t length)
{
	char *text = alloc_zero(length + 1, 1);

	memset(text, '#', length);
	for (size_t i = 0; i < strlen(FUNCTION); i++)
		text[i] = FUNCTION[i];
	return text;
}

static void a_mebibyte_is_the_limit(void **state)
{
	size_t limit = (size_t)1 << 20;
	_cleanup_free_ char *most = padded(limit), *more = padded(limit + 1);

	(void)state;
	spec_free(parse_right(most));
	write_file("large", more, limit + 1);
	check_load("large", -EINVAL, "larger than a config may be (1048576 bytes)");
}

static void a_huge_file_is_not_read_to_its_end(void **state)
{
	_cleanup_free_ char *path = path_of(folder, "sparse");

	(void)state;
	write_file("sparse", "", 0);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	check_load("sparse", -EINVAL, "larger than a config may be (1048576 bytes)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_configs_say_what_is_expected),
		cmocka_unit_test(good_configs_parse),
		cmocka_unit_test(example_configs_parse),
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(other_things_than_files_are_named),
		cmocka_unit_test(a_device_is_named),
		cmocka_unit_test(an_unreadable_file_is_named),
		cmocka_unit_test(a_mebibyte_is_the_limit),
		cmocka_unit_test(a_huge_file_is_not_read_to_its_end),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
