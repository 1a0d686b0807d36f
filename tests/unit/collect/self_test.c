/* The process_* metrics against what the system says by other ways. */
#include "collect/self.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct snapshot *take(void)
{
	struct builder builder;

	builder_init(&builder);
	self_add(&builder);
	return builder_finish(&builder);
}

static const struct family *find(const struct snapshot *snapshot, const char *name)
{
	for (size_t i = 0; i < snapshot->n_families; i++)
		if (!strcmp(snapshot->families[i].name, name))
			return &snapshot->families[i];
	fail_msg("no %s", name);
	return NULL;
}

static double value_of(const struct snapshot *snapshot, const char *name)
{
	struct value value = find(snapshot, name)->series[0].value;

	return value.kind == VALUE_DOUBLE ? value.f64 : (double)value.u64;
}

static void all_are_there_with_type_and_unit(void **state)
{
	static const struct {
		const char *name, *unit;
		enum family_type type;
	} wanted[] = {
		{"process_cpu_seconds_total", "seconds", FAMILY_COUNTER},
		{"process_open_fds", NULL, FAMILY_GAUGE},
		{"process_max_fds", NULL, FAMILY_GAUGE},
		{"process_virtual_memory_bytes", "bytes", FAMILY_GAUGE},
		{"process_virtual_memory_max_bytes", "bytes", FAMILY_GAUGE},
		{"process_resident_memory_bytes", "bytes", FAMILY_GAUGE},
		{"process_start_time_seconds", "seconds", FAMILY_GAUGE},
		{"process_threads", NULL, FAMILY_GAUGE},
	};
	struct snapshot *snapshot = take();

	(void)state;
	assert_int_equal(snapshot->n_families, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct family *family = find(snapshot, wanted[i].name);
		assert_int_equal(family->type, wanted[i].type);
		assert_int_equal(family->n_series, 1);
		if (wanted[i].unit)
			assert_string_equal(family->unit, wanted[i].unit);
		else
			assert_null(family->unit);
	}
	snapshot_free(snapshot);
}

static void descriptors_are_counted(void **state)
{
	struct snapshot *before = take();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct snapshot *after = take();
	struct rlimit limit;

	(void)state;
	assert_true(fd >= 0);
	assert_true(value_of(after, "process_open_fds") ==
		    value_of(before, "process_open_fds") + 1);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(value_of(after, "process_max_fds") == (double)limit.rlim_cur);
	snapshot_free(before);
	snapshot_free(after);
}

static void times_and_memory_are_plausible(void **state)
{
	struct snapshot *snapshot = take();
	struct rusage usage;
	double now = (double)time(NULL), start = value_of(snapshot, "process_start_time_seconds");

	(void)state;
	assert_true(start <= now + 2 && start > now - 3600);
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	double used = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	double shown = value_of(snapshot, "process_cpu_seconds_total");
	assert_true(shown >= 0 && shown <= used + 0.1 && shown >= used - 0.1);
	assert_true(value_of(snapshot, "process_resident_memory_bytes") >= 100000);
	assert_true(value_of(snapshot, "process_virtual_memory_bytes") >=
		    value_of(snapshot, "process_resident_memory_bytes"));
	assert_true(value_of(snapshot, "process_threads") >= 1);
	snapshot_free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_there_with_type_and_unit),
		cmocka_unit_test(descriptors_are_counted),
		cmocka_unit_test(times_and_memory_are_plausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
