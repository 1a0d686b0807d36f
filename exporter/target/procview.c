/* Facts about a process, as proc(5) has them. */
#include "target/procview.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/mounts.h"

/* Bits of `asked` and `known`. */
enum {
	STAT = 1,
	COMM = 2,
	STATUS = 4,
	EXE = 8,
	EXE_FILE = 16,
	CMDLINE = 32,
	CGROUP = 64,
	MOUNT_NS = 128
};

enum { PID_ROOM = 16, NAME_ROOM = 2 * PID_ROOM + 32 };

void procview_glance(struct procview *view, int proc_fd, pid_t pid)
{
	view->pid = pid;
	view->fd = -1;
	view->proc_fd = proc_fd;
	view->asked = view->known = 0;
	view->leads = false;
	view->starved = false;
	view->wanted_start = 0;
	view->exe_name = NULL;
	view->thread = 0;
}

bool procview_is_pinned(const struct procview *view)
{
	return view->fd >= 0;
}

/* Not there, or not to be had for want of something that is ours. */
static void note_failure(struct procview *view)
{
	view->starved |= errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

bool procview_pin(struct procview *view)
{
	char name[PID_ROOM];

	if (procview_is_pinned(view))
		return true;
	snprintf(name, sizeof(name), "%d", (int)view->pid);
	view->fd = openat(view->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (view->fd < 0)
		note_failure(view);
	view->proc_fd = -1;
	view->asked = view->known = 0;
	view->exe_name = NULL; /* it may have started another since */
	view->thread = 0;
	return view->fd >= 0;
}

bool procview_is_starved(const struct procview *view)
{
	return view->starved;
}

bool procview_open(struct procview *view, int proc_fd, pid_t pid)
{
	procview_glance(view, proc_fd, pid);
	return procview_pin(view);
}

void procview_close(struct procview *view)
{
	if (view->fd >= 0)
		close(view->fd);
	view->fd = view->proc_fd = -1;
}

/* A file of the process, by the folder that comes with it. */
struct place {
	int folder_fd;
	char name[NAME_ROOM];
};

static struct place place_of(const struct procview *view, const char *name)
{
	struct place place = {.folder_fd = view->fd};

	if (view->fd >= 0) {
		snprintf(place.name, sizeof(place.name), "%s", name);
	} else {
		place.folder_fd = view->proc_fd;
		snprintf(place.name, sizeof(place.name), "%d/%s", (int)view->pid, name);
	}
	return place;
}

/* The same of what a thread gives back when it ends (turn_to_thread). */
static struct place living_place_of(const struct procview *view, const char *name)
{
	char of_thread[NAME_ROOM];

	if (!view->thread)
		return place_of(view, name);
	snprintf(of_thread, sizeof(of_thread), "task/%d/%s", (int)view->thread, name);
	return place_of(view, of_thread);
}

static int open_place(struct procview *view, struct place place, int flags)
{
	int fd = openat(place.folder_fd, place.name, flags | O_CLOEXEC);

	if (fd < 0)
		note_failure(view);
	return fd;
}

static bool stat_place(struct place place, struct stat *st)
{
	return !fstatat(place.folder_fd, place.name, st, 0);
}

/* Up to `room` bytes of a file: how many, or -1. One read gives all that there is. */
static ssize_t read_place(struct procview *view, struct place place, char *text, size_t room)
{
	ssize_t n = 0;
	int fd = open_place(view, place, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	do
		n = read(fd, text, room);
	while (n < 0 && errno == EINTR);
	close(fd);
	return n;
}

/* Whether the fact is known, after asking for it once. */
static bool learn(struct procview *view, unsigned fact, bool (*ask)(struct procview *))
{
	if (!(view->asked & fact)) {
		view->asked |= fact;
		if ((view->fd >= 0 || view->proc_fd >= 0) && ask(view))
			view->known |= fact;
	}
	return view->known & fact;
}

/* ---- stat ---- */

static bool ask_stat(struct procview *view)
{
	char text[1024];
	ssize_t n = read_place(view, place_of(view, "stat"), text, sizeof(text));

	return n > 0 && procview_parse_stat(text, (size_t)n, &view->stat);
}

const struct procview_stat *procview_stat(struct procview *view)
{
	bool known = learn(view, STAT, ask_stat);

	if (known && view->wanted_start && view->stat.start_ticks != view->wanted_start)
		return NULL;
	return known ? &view->stat : NULL;
}

void procview_expect_start(struct procview *view, uint64_t start_ticks)
{
	view->wanted_start = start_ticks;
}

/* The file `comm` costs the kernel a small part of what `stat` does. */
static bool ask_comm(struct procview *view)
{
	ssize_t n = read_place(view, place_of(view, "comm"), view->stat.comm,
			       sizeof(view->stat.comm) - 1);

	if (n <= 0)
		return false;
	if (view->stat.comm[n - 1] == '\n')
		n--;
	view->stat.comm[n] = '\0';
	return true;
}

const char *procview_comm(struct procview *view)
{
	bool known = view->known & STAT || learn(view, COMM, ask_comm);
	return known ? view->stat.comm : NULL;
}

/* ---- status ---- */

static bool ask_status(struct procview *view)
{
	char text[1024]; /* what is wanted stands near the start */
	ssize_t n = read_place(view, place_of(view, "status"), text, sizeof(text) - 1);
	int tgid = 0;

	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *group = strstr(text, "\nTgid:"), *users = strstr(text, "\nUid:");
	if (!group || !users || sscanf(group, "\nTgid: %d", &tgid) != 1 ||
	    sscanf(users, "\nUid: %*u %u", &view->uid) != 1)
		return false;
	view->tgid = tgid;
	return true;
}

bool procview_uid(struct procview *view, uid_t *uid)
{
	bool known = learn(view, STATUS, ask_status);

	if (known)
		*uid = view->uid;
	return known;
}

void procview_leads(struct procview *view)
{
	view->leads = true;
}

static bool is_leader(struct procview *view)
{
	return view->leads || (learn(view, STATUS, ask_status) && view->tgid == view->pid);
}

bool procview_is_process(struct procview *view)
{
	const struct procview_stat *stat = procview_stat(view);

	return stat && !stat->kernel_thread && !stat->ended && is_leader(view);
}

/* ---- of a thread that goes on ---- */

/* "task/TID/exe" of a thread that still has its memory, or none. */
static bool has_memory(const struct procview *view, const char *tid)
{
	char name[NAME_ROOM], link;

	snprintf(name, sizeof(name), "task/%.*s/exe", PID_ROOM, tid);
	struct place place = place_of(view, name);
	return readlinkat(place.folder_fd, place.name, &link, 1) > 0;
}

/* More than one: the folder has two links more than there are (fs/proc/base.c). */
static bool has_threads(const struct procview *view)
{
	struct stat st;

	return stat_place(place_of(view, "task"), &st) && st.st_nlink > 3;
}

static pid_t find_thread(struct procview *view)
{
	int fd = open_place(view, place_of(view, "task"), O_RDONLY | O_DIRECTORY);
	DIR *threads = fd < 0 ? NULL : fdopendir(fd);
	pid_t found = 0;

	if (fd >= 0 && !threads)
		close(fd);
	for (struct dirent *entry; threads && !found && (entry = readdir(threads));)
		if (isdigit((unsigned char)entry->d_name[0]) && has_memory(view, entry->d_name))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	if (threads)
		closedir(threads);
	return found;
}

/*
 * A thread that ends gives back its memory, its root and its namespaces, and /proc/PID has those of
 * the first one: when that has ended before the others, one of them is asked. (It counts as ended
 * some time before its state says so.) Whether there is one that was not asked before.
 */
static bool turn_to_thread(struct procview *view)
{
	bool refused = errno == EACCES || errno == EPERM;
	pid_t before = view->thread;

	if (refused || !has_threads(view))
		return false;
	view->thread = find_thread(view);
	return view->thread && view->thread != before;
}

enum { TURNS = 8 }; /* the one that is asked may end meanwhile */

static bool learn_of_living(struct procview *view, unsigned fact, bool (*ask)(struct procview *))
{
	bool asked = view->asked & fact;

	errno = 0;
	if (learn(view, fact, ask))
		return true;
	for (int i = 0; i < TURNS && !asked && turn_to_thread(view); i++) {
		view->asked &= ~fact;
		if (learn(view, fact, ask))
			return true;
	}
	return false;
}

/* ---- the executable ---- */

void procview_started(struct procview *view, const char *exe_name, size_t room)
{
	bool is_cut = strnlen(exe_name, room) >= room - 1;

	view->exe_name = *exe_name && !is_cut && !procview_is_pinned(view) ? exe_name : NULL;
}

bool procview_may_run(const struct procview *view, const char *path)
{
	size_t length = strlen(path), end = view->exe_name ? strlen(view->exe_name) : 0;

	/* of a memfd, the name may hold slashes */
	return !view->exe_name || (length > end && path[length - end - 1] == '/' &&
				   !strcmp(path + length - end, view->exe_name));
}

static bool ask_exe(struct procview *view)
{
	static const char deleted[] = " (deleted)";
	size_t end = sizeof(deleted) - 1;
	struct place place = living_place_of(view, "exe");
	ssize_t n = readlinkat(place.folder_fd, place.name, view->exe, sizeof(view->exe) - 1);

	if (n <= 0)
		return false;
	view->exe[n] = '\0';
	view->exe_length = (size_t)n;
	if (view->exe_length > end && !strcmp(view->exe + view->exe_length - end, deleted))
		view->exe_length -= end;
	return true;
}

const char *procview_exe(struct procview *view, size_t *length)
{
	if (!learn_of_living(view, EXE, ask_exe))
		return NULL;
	*length = view->exe_length;
	return view->exe;
}

static bool ask_exe_file(struct procview *view)
{
	struct stat st;

	if (!stat_place(living_place_of(view, "exe"), &st))
		return false;
	view->exe_dev = st.st_dev;
	view->exe_ino = st.st_ino;
	return true;
}

bool procview_exe_file(struct procview *view, dev_t *dev, ino_t *ino)
{
	if (!learn_of_living(view, EXE_FILE, ask_exe_file))
		return false;
	*dev = view->exe_dev;
	*ino = view->exe_ino;
	return true;
}

bool procview_exe_device(struct procview *view, dev_t seen, dev_t *device)
{
	struct place exe = living_place_of(view, "exe"),
		     mounts = living_place_of(view, "mountinfo");

	return mounts_device((struct mounts_file){exe.folder_fd, exe.name},
			     (struct mounts_file){mounts.folder_fd, mounts.name}, seen, device);
}

bool procview_file_device(struct procview *view, int fd, dev_t seen, dev_t *device)
{
	struct place mounts = living_place_of(view, "mountinfo");

	return mounts_device((struct mounts_file){fd, ""},
			     (struct mounts_file){mounts.folder_fd, mounts.name}, seen, device);
}

/* ---- the arguments ---- */

static bool ask_cmdline(struct procview *view)
{
	ssize_t n = read_place(view, living_place_of(view, "cmdline"), view->cmdline,
			       PROCVIEW_TEXT_BYTES);

	/* Kernel threads have none, nor a thread that has ended. */
	if (n < 0 || (n == 0 && has_threads(view)))
		return false;
	while (n > 0 && view->cmdline[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (view->cmdline[i] == '\0')
			view->cmdline[i] = ' ';
	view->cmdline[n] = '\0';
	view->cmdline_length = (size_t)n;
	return true;
}

const char *procview_cmdline(struct procview *view, size_t *length)
{
	if (!learn_of_living(view, CMDLINE, ask_cmdline))
		return NULL;
	*length = view->cmdline_length;
	return view->cmdline;
}

/* ---- the cgroup ---- */

static bool ask_cgroup(struct procview *view)
{
	char text[16384]; /* version 1 has a line for each of its 13 controllers */
	ssize_t n = read_place(view, living_place_of(view, "cgroup"), text, sizeof(text));

	return n > 0 &&
	       cgroup_path_choose(text, (size_t)n, view->cgroup, sizeof(view->cgroup), &view->ids);
}

/* With version 1, a thread that has ended is in the root, where hardly any process is. */
static bool learn_cgroup(struct procview *view)
{
	bool asked = view->asked & CGROUP;

	if (!learn(view, CGROUP, ask_cgroup))
		return false;
	errno = 0;
	if (!asked && !strcmp(view->cgroup, "/") && turn_to_thread(view)) {
		view->asked &= ~(unsigned)CGROUP;
		return learn(view, CGROUP, ask_cgroup);
	}
	return true;
}

const char *procview_cgroup(struct procview *view)
{
	return learn_cgroup(view) ? view->cgroup : NULL;
}

const struct cgroup_ids *procview_ids(struct procview *view)
{
	return learn_cgroup(view) ? &view->ids : NULL;
}

static bool ask_mount_ns(struct procview *view)
{
	struct stat st;

	if (!stat_place(living_place_of(view, "ns/mnt"), &st))
		return false;
	view->mount_ns = st.st_ino;
	return true;
}

ino_t procview_mount_ns(struct procview *view)
{
	return learn_of_living(view, MOUNT_NS, ask_mount_ns) ? view->mount_ns : 0;
}

bool procview_root_stat(struct procview *view, struct stat *root)
{
	return stat_place(living_place_of(view, "root"), root) ||
	       (turn_to_thread(view) && stat_place(living_place_of(view, "root"), root));
}

bool procview_has_root(struct procview *view, const struct stat *root)
{
	struct stat st;

	return procview_root_stat(view, &st) && st.st_dev == root->st_dev &&
	       st.st_ino == root->st_ino;
}

int procview_root(struct procview *view)
{
	int fd = open_place(view, living_place_of(view, "root"), O_PATH | O_DIRECTORY);

	if (fd < 0 && turn_to_thread(view))
		fd = open_place(view, living_place_of(view, "root"), O_PATH | O_DIRECTORY);
	return fd < 0 ? -errno : fd;
}
