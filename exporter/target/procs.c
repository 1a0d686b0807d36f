/* Reading the folder /proc. */
#include "target/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static bool visit_one(int proc_fd, const char *name, procs_visit *visit, void *context)
{
	struct procview view;

	if (!isdigit((unsigned char)name[0]))
		return true;
	procview_glance(&view, proc_fd, (pid_t)strtol(name, NULL, 10));
	procview_leads(&view); /* threads are not listed there */
	bool more = visit(context, &view);
	procview_close(&view);
	return more;
}

int procs_each(int proc_fd, procs_visit *visit, void *context)
{
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *proc = fd < 0 ? NULL : fdopendir(fd);
	bool more = true;

	if (!proc) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (struct dirent *entry; more && (entry = readdir(proc));)
		more = visit_one(fd, entry->d_name, visit, context);
	closedir(proc);
	return 0;
}
