/* What is told of a process by what it maps: this one maps files with telling names. */
#include "common.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "target/runtime.h"

#define FOLDER "build/victims/elf/mapped"

static struct arena arena;
static char map_path[64];

static int start(void **state)
{
	arena_init(&arena);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	return build_victims(state) || system("mkdir -p " FOLDER);
}

static int finish(void **state)
{
	(void)state;
	arena_fini(&arena);
	unlink(map_path);
	return 0;
}

/* Map a page of a file of this name as code. */
static void *map_as(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(at != MAP_FAILED);
	return at;
}

static void an_ordinary_process_generates_nothing(void **state)
{
	(void)state;
	assert_null(runtime_generates(getpid(), "compute", &arena));
	assert_null(runtime_switches(getpid(), &arena));
}

static void a_runtime_with_generated_code_is_named(void **state)
{
	void *jvm = map_as("libjvm.so");

	(void)state;
	assert_null(runtime_generates(getpid(), "compute", &arena)); /* it has none yet */
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *text = runtime_generates(getpid(), "compute", &arena);
	assert_non_null(strstr(text, "Java"));
	assert_non_null(strstr(text, "JMX"));
	munmap(code, 4096);
	munmap(jvm, 4096);
}

static const struct {
	const char *function;
	bool listed;
} lines[] = {
	{"compute", true}, {"Bar", true},	{"comput", false}, {"pute", false},
	{"", false},	   {"long_name", true}, {"other", false},
};

static void the_perf_map_is_searched_for_whole_words(void **state)
{
	FILE *map = fopen(map_path, "w");

	(void)state;
	assert_non_null(map);
	fputs("7f001000 20 Lcom/foo/Bar;::compute\nbad line\n", map);
	for (int i = 0; i < 10000; i++)
		fputc('x', map);
	fputs(" long_name\n", map);
	fclose(map);
	for (size_t i = 0; i < N_ITEMS(lines); i++) {
		const char *text = runtime_generates(getpid(), lines[i].function, &arena);
		if (!text != !lines[i].listed)
			fail_msg("%s: %s", lines[i].function, text);
		assert_true(!text || strstr(text, "USDT"));
	}
	unlink(map_path);
}

/* A FIFO there, or a link to one, must not hold the exporter up. */
static void an_odd_perf_map_is_passed_over(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(map_path, 0600), 0);
	assert_null(runtime_generates(getpid(), "compute", &arena));
	unlink(map_path);
	assert_int_equal(mkdir(map_path, 0700), 0);
	assert_null(runtime_generates(getpid(), "compute", &arena));
	rmdir(map_path);
}

static void a_name_that_only_the_process_has_is_refused(void **state)
{
	struct one one;
	FILE *map = fopen(map_path, "w");

	(void)state;
	fputs("7f001000 20 made_at_run_time\n", map);
	fclose(map);
	one_resolve(&one, ELF_DIR "plain.pie", "made_at_run_time", EXIT_AUTO, getpid(),
		    HOST_COST_REFUSE);
	assert_int_equal(one.probe->reason, REASON_GENERATED_CODE);
	assert_non_null(strstr(one.probe->detail, "perf map"));
	one_free(&one);
	one_resolve(&one, ELF_DIR "plain.pie", "made_nowhere", EXIT_AUTO, getpid(),
		    HOST_COST_REFUSE);
	assert_int_equal(one.probe->reason, REASON_SYMBOL_NOT_FOUND);
	one_free(&one);
	unlink(map_path);
}

/* A plain program is in danger when its process has loaded what switches stacks. */
static void what_a_process_maps_is_evidence(void **state)
{
	struct one one;

	(void)state;
	one_resolve(&one, ELF_DIR "evidence.NOTHING", "victim", EXIT_AUTO, getpid(),
		    HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
	one_free(&one);
	void *boost = map_as("libboost_context.so.1.74.0");
	one_resolve(&one, ELF_DIR "evidence.NOTHING", "victim", EXIT_AUTO, getpid(),
		    HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_RETURN_SITES);
	assert_non_null(strstr(one.probe->detail, "libboost_context, which switches stacks"));
	one_free(&one);
	one_resolve(&one, ELF_DIR "evidence.NOTHING", "leaf", EXIT_AUTO, getpid(),
		    HOST_COST_REFUSE);
	assert_int_equal(one.probe->strategy, STRATEGY_URETPROBE);
	one_free(&one);
	munmap(boost, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_process_generates_nothing),
		cmocka_unit_test(a_runtime_with_generated_code_is_named),
		cmocka_unit_test(the_perf_map_is_searched_for_whole_words),
		cmocka_unit_test(an_odd_perf_map_is_passed_over),
		cmocka_unit_test(a_name_that_only_the_process_has_is_refused),
		cmocka_unit_test(what_a_process_maps_is_evidence),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
