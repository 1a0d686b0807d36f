/* parse_process.c: what a filter's keys hold, and what each refuses. */
#include "common.h"

#include <pwd.h>

#include "config/draft.h"
#include "config/parse.h"
#include "config/report.h"
#include "config/yaml.h"

#define PROCESS(keys)                                                                              \
	"targets:\n  - name: a\n    binary: /a\n    process: {" keys "}\n"                         \
	"    functions: [{symbol: f}]\n"

/* A config as far as parse.c goes, before it is checked whether a key is supported. */
struct read {
	struct report report;
	struct yaml_tree tree;
	struct draft draft;
	struct strbuf said;
	const struct spec_process *process;
};

static void read_text(struct read *read, const char *text)
{
	report_init(&read->report, "c.yaml", text, strlen(text));
	draft_init(&read->draft, "c.yaml");
	strbuf_init(&read->said);
	assert_int_equal(yaml_tree_read(&read->tree, &read->report), 0);
	parse_tree(&read->report, &read->tree, &read->draft);
	report_write(&read->report, &read->said);
	read->process = &read->draft.targets.at[0].spec.process;
}

static void read_right(struct read *read, const char *text)
{
	read_text(read, text);
	assert_string_equal(strbuf_text(&read->said), "");
}

static void read_fini(struct read *read)
{
	strbuf_fini(&read->said);
	yaml_tree_fini(&read->tree);
	draft_fini(&read->draft);
	report_fini(&read->report);
}

static void all_keys_are_read(void **state)
{
	struct read read;

	(void)state;
	read_right(&read, PROCESS("pid: 12, pidfile: /run/a.pid, exe: /bin/a, comm: a,"
				  "cmdline: \"a.*b\", user: root, cgroup: /a/b/, container: web,"
				  "pod: \"p*\", namespace: n, children: true"));
	const struct spec_process *p = read.process;
	assert_int_equal(p->pid, 12);
	/* Not that one alone: its descendants too. */
	assert_int_equal(read.draft.targets.at[0].spec.pid, 0);
	assert_string_equal(p->pidfile, "/run/a.pid");
	assert_string_equal(p->exe, "/bin/a");
	assert_string_equal(p->comm, "a");
	assert_string_equal(p->cmdline, "a.*b");
	assert_string_equal(p->user, "root");
	assert_int_equal(p->uid, 0);
	assert_string_equal(p->cgroup, "/a/b");
	assert_string_equal(p->container, "web");
	assert_string_equal(p->pod, "p*");
	assert_string_equal(p->namespace, "n");
	assert_true(p->children);
	read_fini(&read);
}

static void each_key_alone_selects(void **state)
{
	static const char *const texts[] = {
		PROCESS("pid: 1"),	    PROCESS("pidfile: /x"),
		PROCESS("exe: \"*/x\""),    PROCESS("comm: \"*\""),
		PROCESS("cmdline: x"),	    PROCESS("user: root"),
		PROCESS("cgroup: \"*/x\""), PROCESS("container: 0123456789ab"),
		PROCESS("pod: x"),	    PROCESS("namespace: x, children: false"),
	};
	struct read read;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(texts); i++) {
		read_right(&read, texts[i]);
		assert_true(spec_process_is_set(read.process));
		assert_false(read.process->children);
		read_fini(&read);
	}
	read_right(&read, "targets: [{name: a, binary: /a, functions: [{symbol: f}]}]\n");
	assert_false(spec_process_is_set(read.process));
	read_fini(&read);
}

static void users_by_name_and_number(void **state)
{
	struct passwd *other = getpwnam("nobody");
	struct read read;

	(void)state;
	read_right(&read, PROCESS("user: 4294967294"));
	assert_int_equal(read.process->uid, 4294967294);
	assert_string_equal(read.process->user, "4294967294");
	read_fini(&read);
	read_right(&read, PROCESS("user: \"0\""));
	assert_int_equal(read.process->uid, 0);
	assert_true(spec_process_is_set(read.process));
	read_fini(&read);
	if (other) {
		read_right(&read, PROCESS("user: nobody"));
		assert_int_equal(read.process->uid, other->pw_uid);
		read_fini(&read);
	}
	read_text(&read, PROCESS("user: no-such-user"));
	assert_string_equal(strtok(read.said.text, "\n"),
			    "c.yaml:4:21: warning: no user `no-such-user` on this machine: no "
			    "process is selected");
	assert_int_equal(read.report.errors, 0);
	assert_int_equal(read.process->uid, SPEC_NO_UID);
	read_fini(&read);
}

static const struct wrong cases[] = {
	{PROCESS(""), "4:14: `process` is empty: to measure every process, leave it out"},
	{PROCESS("children: true"), "4:14: `process` needs one of the keys `pid`, `pidfile`, "
				    "`exe`, `comm`, `cmdline`, `user`, "
				    "`cgroup`, `container`, `pod` or `namespace`"},
	{PROCESS("pid: 0"), "4:20: `pid` must be a whole number from 1 to 4194304: to measure "
			    "every process, leave `process` out"},
	{PROCESS("pid: x"), "4:20: `pid` must be a whole number from 1 to 4194304, not `x`"},
	{PROCESS("pidfile: run/x"), "4:24: `pidfile` must be an absolute path, beginning with `/`"},
	{PROCESS("exe: shop"), "4:20: `exe` must be an absolute path, beginning with `/`, or a "
			       "pattern that begins with `*`"},
	{PROCESS("exe: \"/a[b\""), "4:20: the pattern `/a[b` has a `[` without a `]`"},
	{PROCESS("exe: [/a, /b]"), "4:20: `exe` must be text, not a list"},
	{PROCESS("comm: 0123456789abcdef"),
	 "4:21: `comm` is longer than the 15 bytes that the kernel keeps of a name: write "
	 "`0123456789abcde`"},
	{PROCESS("comm: \"*0123456789abcdef\""),
	 "4:21: `comm` can never match: the kernel keeps 15 bytes of a name"},
	{PROCESS("comm: no"), "4:21: `comm` must be text, and `no` without quotes is a boolean in "
			      "YAML: put it in quotes"},
	{PROCESS("cmdline: \"(\""), "4:24: `cmdline` is not a POSIX extended regular expression: "
				    "Unmatched ( or \\("},
	{PROCESS("cmdline: \"(a)\\\\1\""),
	 "4:24: `cmdline` has a back reference (`\\1`), which is not supported"},
	{PROCESS("user: -1"), "4:21: `user` must be text, and `-1` without quotes is a number in "
			      "YAML: put it in quotes"},
	{PROCESS("user: 4294967295"),
	 "4:21: `user` must be a whole number from 0 to 4294967294, not `4294967295`"},
	{PROCESS("user: 010"),
	 "4:21: `user` must be a whole number from 0 to 4294967294, not `010`"},
	{PROCESS("user: {}"), "4:21: `user` must be text, not a mapping"},
	{PROCESS("cgroup: a"), "4:23: `cgroup` must be an absolute path, beginning with `/`, or a "
			       "pattern that begins with `*`"},
	{PROCESS("cgroup: /"), "4:23: `cgroup: /` is every process: leave `cgroup` out"},
	{PROCESS("cgroup: \"///\""), "4:23: `cgroup: /` is every process: leave `cgroup` out"},
	{PROCESS("container: 0123456789a"), "4:26: `container` needs at least 12 digits of an id, "
					    "and `0123456789a` has 11: if it is a "
					    "name, write `[0]123456789a`"},
	{PROCESS("container: db"), "4:26: `container` needs at least 12 digits of an id, and `db` "
				   "has 2: if it is a name, write `[d]b`"},
	{PROCESS("pod: \"[\""), "4:20: the pattern `[` has a `[` without a `]`"},
	{PROCESS("namespace: \"\""), "4:26: `namespace` must not be empty"},
	{PROCESS("comm: a, children: 1"), "4:34: `children` must be true or false, not `1`"},
	{PROCESS("comm: a, children: yes"), "4:34: `children` must be true or false, not `yes`"},
	{PROCESS("commm: a"), "4:15: unknown key `commm` in `process`; did you mean `comm`?"},
	{PROCESS("uid: 0"), "4:15: unknown key `uid` in `process`; did you mean `pid`?"},
};

static void each_is_named(void **state)
{
	struct read read;
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		read_text(&read, cases[i].text);
		strbuf_puts(&read.said, "\n");
		const char *line = strtok(read.said.text, "\n");
		if (!line || strcmp(line + strlen("c.yaml:"), cases[i].first) != 0) {
			print_error("of\n%s\nwanted  %s\ngot     %s\n", cases[i].text,
				    cases[i].first, line);
			wrong++;
		}
		read_fini(&read);
	}
	assert_int_equal(wrong, 0);
}

static void comm_of_any_length_that_can_match(void **state)
{
	struct read read;

	(void)state;
	read_right(&read, PROCESS("comm: 0123456789abcde"));
	read_fini(&read);
	read_right(&read, PROCESS("comm: \"[0-9][0-9][0-9]*[a-z][a-z]?\""));
	read_fini(&read);
	read_right(&read, PROCESS("container: \"[d]b\""));
	read_fini(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(each_key_alone_selects),
		cmocka_unit_test(users_by_name_and_number),
		cmocka_unit_test(each_is_named),
		cmocka_unit_test(comm_of_any_length_that_can_match),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
