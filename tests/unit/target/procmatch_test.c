/* procmatch.c: each condition by itself, and together. */
#include "fake_proc.h"

#include "target/procmatch.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "2b801b7a-5266-4386-864e-45ed71136371"

static struct fake_proc proc;
static struct podnames *pods;

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&proc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_proc_fini(&proc);
	podnames_free(pods);
	pods = NULL;
	return 0;
}

static bool matches(struct spec_process spec, int pid)
{
	struct procmatch *match = procmatch_new(&spec, pods);
	struct procview view;

	bool yes = procview_open(&view, proc.fd, pid) && procmatch_matches(match, &view);
	procview_close(&view);
	procmatch_free(match);
	return yes;
}

#define MATCHES(number, ...) matches((struct spec_process){__VA_ARGS__}, number)

static void each_condition(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 10, .comm = "shop", .exe = "/usr/bin/shop", .uid = 42,
	     .cmdline = "shop --port 80", .cgroup = "/system.slice/shop.service");
	assert_true(MATCHES(10, .pid = 10));
	assert_false(MATCHES(10, .pid = 11));
	assert_true(MATCHES(10, .comm = "shop"));
	assert_false(MATCHES(10, .comm = "sho"));
	assert_true(MATCHES(10, .comm = "sh*"));
	assert_false(MATCHES(10, .comm = "x*"));
	assert_true(MATCHES(10, .exe = "/usr/bin/shop"));
	assert_true(MATCHES(10, .exe = "*/shop"));
	assert_false(MATCHES(10, .exe = "/usr/bin/sho"));
	assert_true(MATCHES(10, .user = "x", .uid = 42));
	assert_false(MATCHES(10, .user = "x", .uid = 77)); /* its real uid */
	assert_false(MATCHES(10, .user = "x", .uid = SPEC_NO_UID));
	assert_true(MATCHES(10, .cmdline = "--port [0-9]+$"));
	assert_true(MATCHES(10, .cmdline = "port"));
	assert_false(MATCHES(10, .cmdline = "^port"));
	assert_true(MATCHES(10, .comm = "shop", .exe = "/usr/bin/*", .uid = 42, .user = "x",
			    .cmdline = "80", .cgroup = "/system.slice", .pid = 10));
	assert_false(MATCHES(10, .comm = "shop", .exe = "/usr/bin/*", .uid = 42, .user = "x",
			     .cmdline = "81", .cgroup = "/system.slice", .pid = 10));
}

static void a_uid_that_no_user_has(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 10, .uid = SPEC_NO_UID);
	assert_false(MATCHES(10, .user = "nobody-such", .uid = SPEC_NO_UID));
}

static void what_is_not_a_process_never_matches(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 2, .comm = "kworker/0:1", .flags = 0x00200040);
	FAKE(&proc, .pid = 3, .comm = "shop", .state = 'Z');
	FAKE(&proc, .pid = 4, .comm = "shop", .tgid = 3);
	assert_false(MATCHES(2, .comm = "kworker*"));
	assert_false(MATCHES(2, .pid = 2));
	assert_false(MATCHES(3, .comm = "shop"));
	assert_false(MATCHES(4, .comm = "shop"));
	assert_false(MATCHES(5, .comm = "shop"));
}

static void a_cgroup_and_those_below(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .cgroup = "/a/b");
	FAKE(&proc, .pid = 2, .cgroup = "/a/b/c");
	FAKE(&proc, .pid = 3, .cgroup = "/a/bc");
	FAKE(&proc, .pid = 4, .cgroup = "/s/dev-x\\x2dy.swap");
	assert_true(MATCHES(1, .cgroup = "/a/b"));
	assert_true(MATCHES(2, .cgroup = "/a/b"));
	assert_false(MATCHES(3, .cgroup = "/a/b"));
	assert_false(MATCHES(1, .cgroup = "/a/b/c"));
	assert_true(MATCHES(1, .cgroup = "/*/b"));
	assert_true(MATCHES(2, .cgroup = "/?/b"));
	assert_false(MATCHES(3, .cgroup = "/?/b"));
	assert_true(MATCHES(3, .cgroup = "/a/b*"));
	assert_true(MATCHES(3, .cgroup = "/a"));
	/* Without wildcards a backslash is one, as systemd writes it. */
	assert_true(MATCHES(4, .cgroup = "/s/dev-x\\x2dy.swap"));
	assert_true(MATCHES(4, .cgroup = "/s/dev-x\\\\x2d*"));
	assert_false(MATCHES(4, .cgroup = "/s/dev-x\\x2d*"));
}

static void containers_and_pods(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .cgroup = "/kubepods/pod" UID "/" ID);
	FAKE(&proc, .pid = 2, .cgroup = "/lxc/web-1");
	FAKE(&proc, .pid = 3, .cgroup = "/system.slice");
	assert_true(MATCHES(1, .container = ID));
	assert_true(MATCHES(1, .container = "0123456789ab"));
	assert_false(MATCHES(1, .container = "0123456789a"));  /* no prefix, but a name */
	assert_false(MATCHES(1, .container = "123456789abc")); /* not at its start */
	assert_true(MATCHES(1, .container = "0123*"));
	assert_false(MATCHES(1, .container = ID "0"));
	assert_true(MATCHES(2, .container = "web-1"));
	assert_true(MATCHES(2, .container = "web-[0-9]"));
	assert_false(MATCHES(2, .container = "web"));
	assert_false(MATCHES(3, .container = "*"));
	assert_true(MATCHES(1, .pod = UID));
	assert_true(MATCHES(1, .pod = "2b801b7a-*"));
	assert_true(MATCHES(1, .pod = "*"));
	assert_false(MATCHES(2, .pod = "*"));
	assert_false(MATCHES(1, .namespace = "*")); /* nobody tells */
}

static void pods_by_name(void **state)
{
	char path[128];

	(void)state;
	FAKE(&proc, .pid = 1, .cgroup = "/kubepods/pod" UID "/" ID);
	FAKE(&proc, .pid = 2, .cgroup = "/kubepods/pod" ID "/" ID);
	snprintf(path, sizeof(path), "%s/shop_web-0_" UID, proc.folder);
	assert_int_equal(mkdir(path, 0755), 0);
	pods = podnames_new(proc.folder, UINT64_MAX);
	assert_true(MATCHES(1, .pod = "web-*"));
	assert_true(MATCHES(1, .pod = UID));
	assert_false(MATCHES(1, .pod = "web"));
	assert_true(MATCHES(1, .namespace = "shop"));
	assert_true(MATCHES(1, .pod = "web-0", .namespace = "s*"));
	assert_false(MATCHES(1, .pod = "web-0", .namespace = "default"));
	assert_false(MATCHES(2, .namespace = "*"));
}

static void a_deleted_executable_keeps_its_name(void **state)
{
	(void)state;
	FAKE(&proc, .pid = 1, .exe = "/bin/shop (deleted)");
	assert_true(MATCHES(1, .exe = "/bin/shop"));
	assert_true(MATCHES(1, .exe = "*/shop"));
	assert_true(MATCHES(1, .exe = "/bin/shop (deleted)"));
	assert_false(MATCHES(1, .exe = "/bin/sho"));
}

/* ---- pidfile ---- */

static void write_pidfile(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void pidfiles_of_all_kinds(void **state)
{
	static const struct {
		const char *text;
		bool is_ten;
	} cases[] = {
		{"10\n", true},
		{"10", true},
		{"  10 \r\n", true},
		{"10\n/var/lib/postgresql\n1234\n", true},
		{"", false},
		{"\n10\n", false},
		{"10 11\n", false},
		{"10x\n", false},
		{"-10\n", false},
		{"+10\n", false},
		{"0x10\n", false},
		{"99999999999999999999999999\n", false},
		{"0000000000000000000000000000000000000000000000000000000000000000000010\n", false},
		{"shop\n", false},
	};
	char path[64];

	(void)state;
	FAKE(&proc, .pid = 10);
	FAKE(&proc, .pid = 11);
	snprintf(path, sizeof(path), "%s/pidfile", proc.folder);
	assert_false(MATCHES(10, .pidfile = path)); /* absent */
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		write_pidfile(path, cases[i].text);
		if (MATCHES(10, .pidfile = path) != cases[i].is_ten)
			fail_msg("%s", cases[i].text);
		assert_false(MATCHES(11, .pidfile = path));
	}
	assert_false(MATCHES(10, .pidfile = proc.folder));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); /* does not hold us up */
	assert_false(MATCHES(10, .pidfile = path));
	assert_false(MATCHES(10, .pidfile = "/dev/zero"));
}

static void a_pidfile_is_read_again(void **state)
{
	struct spec_process spec = {0};
	struct procview view;
	char path[64];

	(void)state;
	FAKE(&proc, .pid = 10);
	snprintf(path, sizeof(path), "%s/pidfile", proc.folder);
	spec.pidfile = path;
	struct procmatch *match = procmatch_new(&spec, NULL);
	assert_true(procview_open(&view, proc.fd, 10));
	assert_false(procmatch_matches(match, &view));
	write_pidfile(path, "10\n");
	procmatch_refresh(match);
	assert_true(procmatch_matches(match, &view));
	write_pidfile(path, "11\n");
	procmatch_refresh(match);
	assert_false(procmatch_matches(match, &view));
	procview_close(&view);
	procmatch_free(match);
}

/* ---- symbolic links ---- */

static void point(const char *link, const char *to)
{
	unlink(link);
	assert_int_equal(symlink(to, link), 0);
}

static bool still_matches(struct procmatch *match, int pid)
{
	struct procview view;

	procmatch_refresh(match);
	bool yes = procview_open(&view, proc.fd, pid) && procmatch_matches(match, &view);
	procview_close(&view);
	return yes;
}

static void a_link_is_followed_outside_of_containers(void **state)
{
	struct spec_process spec = {0};
	char link[64], root[64];

	(void)state;
	FAKE(&proc, .pid = 10, .exe = "/dev/null");
	FAKE(&proc, .pid = 11, .exe = "/dev/null (deleted)");
	FAKE(&proc, .pid = 12, .exe = "/dev/zero");
	snprintf(link, sizeof(link), "%s/link", proc.folder);
	snprintf(root, sizeof(root), "%s/10/root", proc.folder);
	spec.exe = link;
	point(link, "/dev/null");
	assert_false(MATCHES(10, .exe = link)); /* who knows what it sees */
	point(root, proc.folder);
	assert_false(MATCHES(10, .exe = link));
	for (int pid = 10; pid <= 12; pid++) {
		snprintf(root, sizeof(root), "%s/%d/root", proc.folder, pid);
		point(root, "/");
	}
	assert_true(MATCHES(10, .exe = link));
	assert_true(MATCHES(11, .exe = link));
	assert_false(MATCHES(12, .exe = link));
	struct procmatch *match = procmatch_new(&spec, NULL);
	point(link, "/dev/zero");
	assert_true(still_matches(match, 12));
	assert_true(still_matches(match, 10)); /* it was started by the link */
	assert_int_equal(unlink(link), 0);
	assert_true(still_matches(match, 12));
	static const char *const others[] = {"/dev/full", "/dev/random", "/dev/urandom"};
	for (size_t i = 0; i < N_ITEMS(others); i++) {
		assert_true(still_matches(match, 12));
		point(link, others[i]);
	}
	assert_true(still_matches(match, 12));
	assert_false(still_matches(match, 10)); /* the last four are known */
	procmatch_free(match);
}

/* ---- hostile texts ---- */

/* Texts that would let a matcher run away: each answer comes at once. */
static void matching_takes_no_time(void **state)
{
	static char line[4500];

	(void)state;
	memset(line, 'a', 4400);
	line[0] = '/';
	FAKE(&proc, .pid = 1, .cmdline = line, .comm = "aaaaaaaaaaaaaaa");
	line[2000] = '\0';
	FAKE(&proc, .pid = 2, .cgroup = line);
	assert_false(MATCHES(1, .cmdline = "^(/?(a|aa)+)+$b"));
	assert_false(MATCHES(1, .cmdline = "(a*)*b"));
	assert_false(MATCHES(2, .cgroup = "/*a*a*a*a*a*a*a*a*a*a*b"));
	assert_false(MATCHES(1, .comm = "*a*a*a*a*b"));
}

/* The automaton is made anew now and then; what it says stays the same. */
static void many_command_lines(void **state)
{
	struct spec_process spec = {.cmdline = "(a|b)*a(a|b){9}c"};
	struct procmatch *match = procmatch_new(&spec, NULL);
	struct procview view;
	char line[4001];

	(void)state;
	FAKE(&proc, .pid = 1);
	for (unsigned round = 0; round < 60; round++) {
		for (size_t i = 0; i < 4000; i++)
			line[i] = "ab"[(i * i / 7 + i * round) % 2];
		line[4000] = '\0';
		memcpy(line + 3988, "abbbbbbbbbbc", 12);
		line[3989] = round % 2 ? 'a' : 'b';
		fake_write(&proc, 1, "cmdline", line, 4000);
		assert_true(procview_open(&view, proc.fd, 1));
		assert_int_equal(procmatch_matches(match, &view), round % 2);
		procview_close(&view);
	}
	procmatch_free(match);
}

static void what_the_kernel_can_decide(void **state)
{
	static const struct {
		struct spec_process spec;
		unsigned parts;
	} cases[] = {
		{{.exe = "/bin/shop"}, PROCMATCH_EXE},
		{{.exe = "/bin/*"}, PROCMATCH_OTHERS},
		{{.comm = "shop"}, PROCMATCH_COMM},
		{{.comm = "sh?p"}, PROCMATCH_OTHERS},
		{{.cgroup = "/a"}, PROCMATCH_CGROUP},
		{{.cgroup = "/[ab]"}, PROCMATCH_OTHERS},
		{{.exe = "/a", .comm = "b", .cgroup = "/c", .children = true},
		 PROCMATCH_EXE | PROCMATCH_COMM | PROCMATCH_CGROUP},
		{{.exe = "/a", .cmdline = "b"}, PROCMATCH_EXE | PROCMATCH_OTHERS},
		{{.user = "0"}, PROCMATCH_OTHERS},
		{{.pid = 7}, PROCMATCH_OTHERS},
		{{.pidfile = "/x"}, PROCMATCH_OTHERS},
		{{.container = "x"}, PROCMATCH_OTHERS},
		{{.pod = "x"}, PROCMATCH_OTHERS},
		{{.namespace = "x"}, PROCMATCH_OTHERS},
		{{0}, 0},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++)
		assert_int_equal(procmatch_kernel_parts(&cases[i].spec), cases[i].parts);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(each_condition),
		EACH(a_uid_that_no_user_has),
		EACH(what_is_not_a_process_never_matches),
		EACH(a_cgroup_and_those_below),
		EACH(containers_and_pods),
		EACH(pods_by_name),
		EACH(a_deleted_executable_keeps_its_name),
		EACH(pidfiles_of_all_kinds),
		EACH(a_pidfile_is_read_again),
		EACH(a_link_is_followed_outside_of_containers),
		EACH(matching_takes_no_time),
		EACH(many_command_lines),
		EACH(what_the_kernel_can_decide),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
