/* /proc/PID/maps, as proc(5) has it. */
#include "target/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/vec.h"

struct program {
	dev_t dev;
	ino_t ino;
};

struct tally {
	pid_t last; /* the last process counted */
	VEC(struct program) programs;
};

/* "start-end perms offset major:minor inode  path": false for a line without a file. */
static bool parse_line(char *line, struct proc_mapping *mapping)
{
	char *at = strchr(line, ' '), *end;

	if (!at || strlen(at) < 6)
		return false;
	mapping->executable = at[3] == 'x';
	at = strchr(at + 1, ' ');
	at = at ? strchr(at + 1, ' ') : NULL;
	if (!at)
		return false;
	unsigned long major_number = strtoul(at, &end, 16);
	if (*end != ':')
		return false;
	unsigned long minor_number = strtoul(end + 1, &end, 16);
	mapping->dev = makedev(major_number, minor_number);
	mapping->ino = strtoul(end, &end, 10);
	mapping->path = end + strspn(end, " ");
	end = strchr(mapping->path, '\n');
	if (end)
		*end = '\0';
	return mapping->ino != 0;
}

static bool is_file(const struct proc_mapping *mapping, dev_t dev, ino_t ino, const char *path)
{
	return mapping->executable && mapping->ino == ino &&
	       (mapping->dev == dev || strcmp(mapping->path, path) == 0);
}

static FILE *open_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

bool proc_maps(pid_t pid, dev_t dev, ino_t ino, const char *path)
{
	_cleanup_free_ char *line = NULL;
	struct proc_mapping mapping;
	size_t room = 0;
	bool found = false;
	FILE *maps = open_maps(pid);

	if (!maps)
		return false;
	while (!found && getline(&line, &room, maps) > 0)
		found = parse_line(line, &mapping) && is_file(&mapping, dev, ino, path);
	fclose(maps);
	return found;
}

void proc_visit(pid_t pid, proc_mapping_visit *visit, void *context)
{
	_cleanup_free_ char *line = NULL;
	struct proc_mapping mapping = {0};
	size_t room = 0;
	FILE *maps = open_maps(pid);

	while (maps && getline(&line, &room, maps) > 0) {
		mapping.path = "";
		mapping.ino = 0;
		parse_line(line, &mapping);
		visit(context, &mapping);
	}
	if (maps)
		fclose(maps);
}

static void count_program(struct tally *tally, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < tally->programs.n; i++)
		if (tally->programs.at[i].dev == st.st_dev &&
		    tally->programs.at[i].ino == st.st_ino)
			return;
	*vec_push(&tally->programs) = (struct program){st.st_dev, st.st_ino};
}

static void count_process(pid_t pid, struct proc_mapped *files, struct tally *tallies, size_t n,
			  char **line, size_t *room)
{
	struct proc_mapping mapping;
	FILE *maps = open_maps(pid);

	if (!maps)
		return;
	while (getline(line, room, maps) > 0) {
		if (!parse_line(*line, &mapping) || !mapping.executable)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (tallies[i].last == pid ||
			    !is_file(&mapping, files[i].dev, files[i].ino, files[i].path))
				continue;
			tallies[i].last = pid;
			files[i].processes++;
			count_program(&tallies[i], pid);
		}
	}
	fclose(maps);
}

void proc_count(struct proc_mapped *files, size_t n)
{
	_cleanup_free_ struct tally *tallies = alloc_zero(n, sizeof(*tallies));
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	DIR *proc = n ? opendir("/proc") : NULL;

	for (struct dirent *entry; proc && (entry = readdir(proc));)
		if (isdigit((unsigned char)entry->d_name[0]))
			count_process((pid_t)strtol(entry->d_name, NULL, 10), files, tallies, n,
				      &line, &room);
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < n; i++) {
		files[i].programs = (uint32_t)tallies[i].programs.n;
		vec_fini(&tallies[i].programs);
	}
}

static bool runs(pid_t pid, dev_t dev, ino_t ino)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

size_t proc_running(dev_t dev, ino_t ino, pid_t *pids, size_t room)
{
	DIR *proc = opendir("/proc");
	size_t n = 0;

	for (struct dirent *entry; proc && n < room && (entry = readdir(proc));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (isdigit((unsigned char)entry->d_name[0]) && runs(pid, dev, ino))
			pids[n++] = pid;
	}
	if (proc)
		closedir(proc);
	return n;
}

static int gone(struct err *err, pid_t pid, const char *what)
{
	return err_set(err, -ESRCH, REASON_PROCESS_NOT_FOUND, "process %d %s", (int)pid, what);
}

int proc_check(pid_t pid, struct err *err)
{
	char path[64], line[256], state = 0;
	int tgid = 0, threads = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *status = fopen(path, "re");
	if (!status)
		return gone(err, pid, "does not exist");
	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "Tgid: %d", &tgid);
		sscanf(line, "Threads: %d", &threads);
	}
	fclose(status);
	if (state == 'Z' && threads > 1)
		return gone(err, pid,
			    "goes on without its first thread, by which the kernel would know it");
	if (state == 'Z' || state == 'X')
		return gone(err, pid, "has ended");
	if (tgid != pid)
		return err_set(
			err, -ESRCH, REASON_PROCESS_NOT_FOUND,
			"%d is a thread of process %d: name the process, which covers all of "
			"its threads",
			(int)pid, tgid);
	return 0;
}
