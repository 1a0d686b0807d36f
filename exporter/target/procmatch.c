/* The conditions of a filter. */
#include "target/procmatch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/glob.h"

#define MOST_EXES     4
#define MAX_PID	      4194304 /* PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h) */
#define MIN_ID_DIGITS 12
#define MAX_ID_DIGITS 64
/*
 * glibc keeps each state of the automaton that a text has led to. After this many bytes the
 * expression is compiled anew, so that odd command lines cannot make it grow for ever.
 */
#define REGEX_BYTES 65536

struct procmatch {
	const struct spec_process *spec;
	struct podnames *pods;
	pid_t file_pid;	       /* what the pidfile said last; 0: nothing */
	char *exes[MOST_EXES]; /* where `exe` led by links, the newest first; owned */
	struct stat root;      /* our root directory */
	char *below;	       /* pattern over the cgroups below those that `cgroup` matches */
	regex_t regex;
	bool compiled;
	size_t regex_bytes; /* matched since it was compiled */
};

/* ---- making ---- */

static bool is_plain(const char *text)
{
	return text && !glob_is_pattern(text);
}

static void compile(struct procmatch *match)
{
	if (match->compiled)
		regfree(&match->regex);
	match->compiled = !regcomp(&match->regex, match->spec->cmdline, REG_EXTENDED | REG_NOSUB);
	match->regex_bytes = 0;
}

struct procmatch *procmatch_new(const struct spec_process *spec, struct podnames *pods)
{
	struct procmatch *match = alloc_zero(1, sizeof(*match));

	match->spec = spec;
	match->pods = pods;
	if (stat("/", &match->root))
		match->root = (struct stat){0};
	if (spec->cmdline)
		compile(match);
	if (spec->cgroup && glob_is_pattern(spec->cgroup)) {
		size_t n = strlen(spec->cgroup);
		match->below = alloc_zero(n + 3, 1);
		memcpy(match->below, spec->cgroup, n);
		memcpy(match->below + n, "/*", 2);
	}
	procmatch_refresh(match);
	return match;
}

void procmatch_free(struct procmatch *match)
{
	if (!match)
		return;
	if (match->compiled)
		regfree(&match->regex);
	for (size_t i = 0; i < MOST_EXES; i++)
		free(match->exes[i]);
	free(match->below);
	free(match);
}

void procmatch_move(struct procmatch *match, const struct spec_process *spec)
{
	match->spec = spec;
}

const struct spec_process *procmatch_spec(const struct procmatch *match)
{
	return match->spec;
}

/* ---- pidfile ---- */

/* The first line's number; 0 if it is none. PostgreSQL's pidfile has further lines. */
static pid_t parse_pid(const char *text)
{
	char *end;

	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text))
		return 0;
	unsigned long pid = strtoul(text, &end, 10);
	end += strspn(end, " \t\r");
	return (*end == '\0' || *end == '\n') && pid <= MAX_PID ? (pid_t)pid : 0;
}

static pid_t read_pidfile(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char text[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return parse_pid(text);
}

/* ---- exe ---- */

static void follow_links(struct procmatch *match)
{
	const char *path = match->spec->exe;
	char real[PATH_MAX];

	if (!realpath(path, real) || !strcmp(real, path) ||
	    (match->exes[0] && !strcmp(real, match->exes[0])))
		return;
	free(match->exes[MOST_EXES - 1]);
	memmove(&match->exes[1], &match->exes[0], sizeof(match->exes) - sizeof(match->exes[0]));
	match->exes[0] = alloc_strdup(real);
}

void procmatch_refresh(struct procmatch *match)
{
	if (match->spec->pidfile)
		match->file_pid = read_pidfile(match->spec->pidfile);
	if (is_plain(match->spec->exe))
		follow_links(match);
}

/* ---- conditions ---- */

static bool fits(const char *pattern, const char *text)
{
	return glob_matches_or_is(pattern, text, strlen(text));
}

static bool pid_fits(struct procmatch *match, struct procview *view)
{
	return view->pid == match->spec->pid;
}

static bool pidfile_fits(struct procmatch *match, struct procview *view)
{
	return view->pid == match->file_pid;
}

static bool comm_fits(struct procmatch *match, struct procview *view)
{
	const char *comm = procview_comm(view);
	return comm && fits(match->spec->comm, comm);
}

static bool user_fits(struct procmatch *match, struct procview *view)
{
	uid_t uid;
	return match->spec->uid != SPEC_NO_UID && procview_uid(view, &uid) &&
	       uid == match->spec->uid;
}

static bool is_linked(struct procmatch *match, struct procview *view, const char *exe,
		      size_t length)
{
	for (size_t i = 0; i < MOST_EXES && match->exes[i]; i++)
		if (!strncmp(match->exes[i], exe, length) && !match->exes[i][length])
			return procview_has_root(view, &match->root);
	return false;
}

/* As far as the start of the program has told. */
static bool may_run(const struct procmatch *match, const struct procview *view)
{
	bool may = !is_plain(match->spec->exe) || procview_may_run(view, match->spec->exe);

	for (size_t i = 0; !may && i < MOST_EXES && match->exes[i]; i++)
		may = procview_may_run(view, match->exes[i]);
	return may;
}

static bool exe_fits(struct procmatch *match, struct procview *view)
{
	size_t length;
	const char *exe = may_run(match, view) ? procview_exe(view, &length) : NULL;

	return exe && (glob_matches_or_is(match->spec->exe, exe, length) ||
		       (exe[length] && fits(match->spec->exe, exe)) ||
		       is_linked(match, view, exe, length));
}

static bool cgroup_fits(struct procmatch *match, struct procview *view)
{
	const char *wanted = match->spec->cgroup, *path = procview_cgroup(view);

	if (!path)
		return false;
	if (match->below)
		return fits(wanted, path) || fits(match->below, path);
	size_t n = strlen(wanted);
	return !strncmp(path, wanted, n) && (path[n] == '\0' || path[n] == '/');
}

static bool is_id_start(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");
	return !text[n] && n >= MIN_ID_DIGITS && n <= MAX_ID_DIGITS;
}

static bool container_fits(struct procmatch *match, struct procview *view)
{
	const struct cgroup_ids *ids = procview_ids(view);
	const char *wanted = match->spec->container;

	if (!ids || !ids->container[0])
		return false;
	return is_id_start(wanted) ? !strncmp(ids->container, wanted, strlen(wanted))
				   : fits(wanted, ids->container);
}

static const struct podname *pod_of(struct procmatch *match, const struct cgroup_ids *ids)
{
	return match->pods ? podnames_find(match->pods, ids->pod_uid) : NULL;
}

static bool pod_fits(struct procmatch *match, struct procview *view)
{
	const struct cgroup_ids *ids = procview_ids(view);

	if (!ids || !ids->pod_uid[0])
		return false;
	if (fits(match->spec->pod, ids->pod_uid))
		return true;
	const struct podname *pod = pod_of(match, ids);
	return pod && fits(match->spec->pod, pod->name);
}

static bool namespace_fits(struct procmatch *match, struct procview *view)
{
	const struct cgroup_ids *ids = procview_ids(view);

	if (!ids || !ids->pod_uid[0])
		return false;
	const struct podname *pod = pod_of(match, ids);
	return pod && fits(match->spec->namespace, pod->namespace);
}

static bool cmdline_fits(struct procmatch *match, struct procview *view)
{
	size_t length;
	const char *cmdline = procview_cmdline(view, &length);

	if (!cmdline)
		return false;
	if (match->regex_bytes > REGEX_BYTES)
		compile(match);
	match->regex_bytes += length;
	return match->compiled && !regexec(&match->regex, cmdline, 0, NULL, 0);
}

static bool fits_all(struct procmatch *match, struct procview *view)
{
	const struct spec_process *spec = match->spec;
	const struct {
		bool set;
		bool (*fits)(struct procmatch *, struct procview *);
	} conditions[] = {
		{spec->pid, pid_fits},
		{spec->pidfile, pidfile_fits},
		{spec->comm, comm_fits},
		{spec->user, user_fits},
		{spec->exe, exe_fits},
		{spec->cgroup, cgroup_fits},
		{spec->container, container_fits},
		{spec->pod, pod_fits},
		{spec->namespace, namespace_fits},
		{spec->cmdline, cmdline_fits},
	};

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		if (conditions[i].set && !conditions[i].fits(match, view))
			return false;
	return true;
}

bool procmatch_matches(struct procmatch *match, struct procview *view)
{
	if (!fits_all(match, view))
		return false;
	if (!procview_is_pinned(view) && (!procview_pin(view) || !fits_all(match, view)))
		return false;
	return procview_is_process(view);
}

/* ---- what the kernel can decide ---- */

pid_t procmatch_pid(const struct procmatch *match)
{
	return match->spec->pid ? match->spec->pid : match->file_pid;
}

unsigned procmatch_kernel_parts(const struct spec_process *spec)
{
	struct spec_process others = *spec;
	unsigned parts = 0;

	if (is_plain(spec->exe)) {
		parts |= PROCMATCH_EXE;
		others.exe = NULL;
	}
	if (is_plain(spec->comm)) {
		parts |= PROCMATCH_COMM;
		others.comm = NULL;
	}
	if (is_plain(spec->cgroup)) {
		parts |= PROCMATCH_CGROUP;
		others.cgroup = NULL;
	}
	return parts | (spec_process_is_set(&others) ? PROCMATCH_OTHERS : 0);
}
