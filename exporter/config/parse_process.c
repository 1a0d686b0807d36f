/* The keys of `process:`. */
#include "config/parse_process.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "config/labels.h"
#include "config/regex.h"
#include "config/scalar.h"

#define MAX_PATH_BYTES 4095	  /* PATH_MAX less the NUL */
#define MAX_PID	       4194304	  /* PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h) */
#define MAX_UID	       4294967294 /* 2^32-1 is "no user" */
#define MAX_COMM_BYTES 15	  /* TASK_COMM_LEN less the NUL (include/linux/sched.h) */
#define MIN_ID_DIGITS  12	  /* what `docker ps` shows of a container's id */

/* ---- one by its number ---- */

static void read_pid(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	uint64_t pid;

	if (value->kind == YAML_SCALAR && !value->quoted &&
	    (!strcmp(value->text, "0") || value->text[0] == '-'))
		report_error(p->report, value->span,
			     "`pid` must be a whole number from 1 to %d: to measure every process, "
			     "leave `process` out",
			     MAX_PID);
	else if (scalar_integer(p->report, "pid", value, 1, MAX_PID, &pid))
		spec->pid = (pid_t)pid;
}

static void read_pidfile(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	const char *text;

	if (!scalar_text(p->report, "pidfile", value, MAX_PATH_BYTES, &text))
		return;
	if (text[0] != '/')
		report_error(p->report, value->span,
			     "`pidfile` must be an absolute path, beginning with `/`");
	spec->pidfile = parser_keep(p, text);
}

/* ---- patterns ---- */

/* A copy of the text, which is a pattern if it has wildcards; NULL when that is faulty. */
static char *read_pattern(struct parser *p, const char *key, const struct yaml_value *value,
			  size_t max_bytes)
{
	const char *text, *fault;

	if (!scalar_text(p->report, key, value, max_bytes, &text))
		return NULL;
	fault = glob_is_pattern(text) ? glob_fault(text) : NULL;
	if (fault)
		report_error(p->report, value->span, "the pattern %s %s", QUOTE(text), fault);
	return fault ? NULL : parser_keep(p, text);
}

/* The same for what begins with `/`; a pattern may begin with a wildcard instead. */
static char *read_path_pattern(struct parser *p, const char *key, const struct yaml_value *value)
{
	char *text = read_pattern(p, key, value, MAX_PATH_BYTES);

	if (!text || strchr("/*?[", text[0]))
		return text;
	report_error(p->report, value->span,
		     "`%s` must be an absolute path, beginning with `/`, or a pattern that begins "
		     "with `*`",
		     key);
	return NULL;
}

static void read_exe(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	spec->exe = read_path_pattern(p, "exe", value);
}

static void comm_too_long(struct parser *p, const struct yaml_value *value, const char *text)
{
	char kept[MAX_COMM_BYTES + 1];

	snprintf(kept, sizeof(kept), "%s", text);
	if (glob_is_pattern(text))
		report_error(p->report, value->span,
			     "`comm` can never match: the kernel keeps %d bytes of a name",
			     MAX_COMM_BYTES);
	else
		report_error(p->report, value->span,
			     "`comm` is longer than the %d bytes that the kernel keeps of a name: "
			     "write %s",
			     MAX_COMM_BYTES, QUOTE(kept));
}

static void read_comm(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	char *text = read_pattern(p, "comm", value, LABELS_MAX_TEXT_BYTES);

	if (text && glob_least_length(text) > MAX_COMM_BYTES)
		comm_too_long(p, value, text);
	else
		spec->comm = text;
}

static void read_cgroup(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	char *text = read_path_pattern(p, "cgroup", value);

	if (!text)
		return;
	for (size_t end = strlen(text); end > 0 && text[end - 1] == '/';)
		text[--end] = '\0';
	if (!*text)
		report_error(p->report, value->span,
			     "`cgroup: /` is every process: leave `cgroup` out");
	else
		spec->cgroup = text;
}

static void read_container(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	char *text = read_pattern(p, "container", value, LABELS_MAX_TEXT_BYTES);

	if (text && strlen(text) < MIN_ID_DIGITS && !text[strspn(text, "0123456789abcdef")])
		report_error(p->report, value->span,
			     "`container` needs at least %d digits of an id, and %s has %zu: if it "
			     "is a name, write `[%c]%s`",
			     MIN_ID_DIGITS, QUOTE(text), strlen(text), text[0], text + 1);
	else
		spec->container = text;
}

static void read_pod(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	spec->pod = read_pattern(p, "pod", value, LABELS_MAX_TEXT_BYTES);
}

static void read_namespace(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	spec->namespace = read_pattern(p, "namespace", value, LABELS_MAX_TEXT_BYTES);
}

/* ---- others ---- */

static void read_cmdline(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	char room[256];
	const char *text, *fault;

	if (!scalar_text(p->report, "cmdline", value, REGEX_MAX_BYTES, &text))
		return;
	fault = regex_fault(text, room, sizeof(room));
	if (fault)
		report_error(p->report, value->span, "`cmdline` %s", fault);
	else
		spec->cmdline = parser_keep(p, text);
}

static uid_t find_user(struct parser *p, const struct yaml_value *value)
{
	char *end, room[4096];
	struct passwd entry, *found = NULL;
	unsigned long number = strtoul(value->text, &end, 10);

	if (!value->text[strspn(value->text, "0123456789")] && number <= MAX_UID)
		return (uid_t)number;
	if (!getpwnam_r(value->text, &entry, room, sizeof(room), &found) && found)
		return entry.pw_uid;
	report_warning(p->report, value->span, "no user %s on this machine: no process is selected",
		       QUOTE(value->text));
	return SPEC_NO_UID;
}

/* A name, or a number with or without quotes. */
static void read_user(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	const char *text = value->text;
	uint64_t number;

	if (value->kind == YAML_SCALAR && !value->quoted && *text &&
	    !text[strspn(text, "0123456789")]) {
		if (!scalar_integer(p->report, "user", value, 0, MAX_UID, &number))
			return;
	} else if (!scalar_text(p->report, "user", value, LABELS_MAX_TEXT_BYTES, &text)) {
		return;
	}
	spec->user = parser_keep(p, text);
	spec->uid = find_user(p, value);
}

static const struct choice booleans[] = {{"true", true}, {"false", false}};

static void read_children(struct parser *p, const struct yaml_value *value, void *into)
{
	struct spec_process *spec = into;
	int choice;

	if (scalar_choice(p->report, "children", value, booleans, N_ITEMS(booleans), &choice))
		spec->children = choice;
}

/* ---- all of it ---- */

static const struct field process_fields[] = {
	{.name = "pid", .read = read_pid, .any_of = true},
	{.name = "pidfile", .read = read_pidfile, .any_of = true},
	{.name = "exe", .read = read_exe, .any_of = true},
	{.name = "comm", .read = read_comm, .any_of = true},
	{.name = "cmdline", .read = read_cmdline, .any_of = true},
	{.name = "user", .read = read_user, .any_of = true},
	{.name = "cgroup", .read = read_cgroup, .any_of = true},
	{.name = "container", .read = read_container, .any_of = true},
	{.name = "pod", .read = read_pod, .any_of = true},
	{.name = "namespace", .read = read_namespace, .any_of = true},
	{.name = "children", .read = read_children},
};
const struct schema parse_process_schema = {"`process`", process_fields, N_ITEMS(process_fields)};

void parse_process(struct parser *p, const struct yaml_value *value, struct draft_target *into)
{
	if (value->kind == YAML_MAPPING && value->n == 0) {
		report_error(p->report, value->span,
			     "`process` is empty: to measure every process, leave it out");
		return;
	}
	fields_read(&p->context, &parse_process_schema, value, &into->spec.process);
	/* Then links for this process alone will do. */
	into->spec.pid = into->spec.process.children ? 0 : into->spec.process.pid;
}
