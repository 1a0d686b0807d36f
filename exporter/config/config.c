/* From a path to a spec: reading the file, and the order of the steps. */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/check.h"
#include "config/draft.h"
#include "config/parse.h"
#include "config/report.h"
#include "config/yaml.h"

static void read_spec(struct report *report, struct spec **spec)
{
	struct yaml_tree tree;
	struct draft draft;

	draft_init(&draft, report->name);
	if (!yaml_tree_read(&tree, report)) {
		parse_tree(report, &tree, &draft);
		draft_apply_defaults(&draft);
		check_draft(report, &draft);
	}
	if (!report->errors)
		*spec = draft_take_spec(&draft);
	yaml_tree_fini(&tree);
	draft_fini(&draft);
}

int config_parse(const char *name, const char *text, size_t length, struct spec **spec,
		 struct strbuf *diagnostics)
{
	struct report report;

	*spec = NULL;
	/* One byte more than allowed is enough to be told that it is too large. */
	report_init(&report, name, text, length > YAML_MAX_BYTES ? YAML_MAX_BYTES + 1 : length);
	read_spec(&report, spec);
	report_write(&report, diagnostics);
	report_fini(&report);
	return *spec ? 0 : -EINVAL;
}

/* What a file is that is not a regular one; a socket cannot be opened at all. */
static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a pipe";
	default:
		return "a device";
	}
}

/* A read-only descriptor of a regular file; O_NONBLOCK, so that a FIFO does not hold us up. */
static int open_file(const char *path, struct strbuf *diagnostics)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		int rc = -errno;
		strbuf_printf(diagnostics, "%s: cannot be opened: %s\n", path, strerror(-rc));
		return rc;
	}
	if (!S_ISREG(st.st_mode)) {
		strbuf_printf(diagnostics, "%s: is %s, not a file\n", path, kind_name(st.st_mode));
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	int taken = fd;
	fd = -1;
	return taken;
}

/* Up to `room` bytes; how many, or -errno. */
static ssize_t read_all(int fd, char *text, size_t room)
{
	size_t length = 0;

	while (length < room) {
		ssize_t n = read(fd, text + length, room - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

int config_load(const char *path, struct spec **spec, struct strbuf *diagnostics)
{
	_cleanup_close_ int fd = open_file(path, diagnostics);
	_cleanup_free_ char *text = NULL;

	*spec = NULL;
	if (fd < 0)
		return fd;
	text = alloc_zero(YAML_MAX_BYTES + 1, 1);
	ssize_t length = read_all(fd, text, YAML_MAX_BYTES + 1);
	if (length < 0) {
		strbuf_printf(diagnostics, "%s: cannot be read: %s\n", path,
			      strerror((int)-length));
		return (int)length;
	}
	return config_parse(path, text, (size_t)length, spec, diagnostics);
}
