/* Conditions into numbers. */
#include "rule.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "cgroups.h"
#include "target/mounts.h"
#include "target/procmatch.h"

/* What is to be decided of a program that is started, of the process that it is about. */
static unsigned parts_of(const struct spec_process *spec)
{
	struct spec_process rest = *spec;

	rest.pid = 0;
	rest.pidfile = NULL;
	return procmatch_kernel_parts(&rest);
}

/* ---- cgroup ---- */

static bool find_cgroup(const char *path, struct up_rule *rule)
{
	rule->cgroup = cgroups_id(path);
	if (!rule->cgroup)
		return false;
	rule->cgroup_level = 0;
	for (const char *at = path; *at; at++)
		rule->cgroup_level += at[0] != '/' && (at == path || at[-1] == '/');
	return true;
}

/* Leave it to the exporter where the kernel cannot tell, or there is no such cgroup now. */
static void set_cgroup(const struct spec_process *spec, struct up_rule *rule)
{
	bool others = parts_of(spec) & PROCMATCH_OTHERS;
	bool found = find_cgroup(spec->cgroup, rule);

	rule->parts &= ~(uint32_t)(UP_RULE_CGROUP | UP_RULE_OTHERS);
	rule->parts |= found ? UP_RULE_CGROUP : UP_RULE_OTHERS;
	rule->parts |= others ? UP_RULE_OTHERS : 0;
}

bool rule_follow_cgroup(struct up_rule *rule, const struct spec_process *spec)
{
	struct up_rule now = *rule;

	if (!(parts_of(spec) & PROCMATCH_CGROUP))
		return false;
	set_cgroup(spec, &now);
	if (now.cgroup == rule->cgroup && now.parts == rule->parts)
		return false;
	*rule = now;
	return true;
}

/* ---- exe ---- */

static uint32_t kernel_dev(dev_t dev)
{
	return (uint32_t)(major(dev) << 20 | minor(dev));
}

static bool knows(const struct up_rule *rule, uint32_t dev, uint64_t ino)
{
	for (size_t i = 0; i < UP_RULE_INODES; i++)
		if (rule->exe[i].used && rule->exe[i].ino == ino && rule->exe[i].dev == dev)
			return true;
	return false;
}

bool rule_knows_exe(const struct up_rule *rule, dev_t dev, ino_t ino)
{
	return knows(rule, kernel_dev(dev), ino);
}

bool rule_learn_exe(struct up_rule *rule, dev_t dev, ino_t ino)
{
	size_t last = UP_RULE_INODES - 1;

	if (knows(rule, kernel_dev(dev), ino))
		return false;
	memmove(&rule->exe[1], &rule->exe[0], last * sizeof(rule->exe[0])); /* the oldest goes */
	rule->exe[0].ino = ino;
	rule->exe[0].dev = kernel_dev(dev);
	rule->exe[0].used = 1;
	return true;
}

/*
 * One file may have several names, of which only this one is meant. Of a longer one the kernel
 * programs look at the start, and have the exporter look at the rest.
 */
static void set_name(struct up_rule *rule, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	memset(rule->name, 0, sizeof(rule->name));
	memcpy(rule->name, name, strnlen(name, sizeof(rule->name) - 1));
}

/* FNV-1a (draft-eastlake-fnv): which path, for comparing only. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

static struct rule_file look_at(const char *path)
{
	struct rule_file file = {0};
	struct stat st, link;

	if (stat(path, &st) || lstat(path, &link))
		return file;
	file.seen = st.st_dev;
	file.ino = st.st_ino;
	file.changed = st.st_ctim;
	file.link = link.st_ino;
	file.link_changed = link.st_ctim;
	return file;
}

static void find_device(const char *path, struct rule_file *file)
{
	struct mounts_file mountinfo = {AT_FDCWD, "/proc/self/mountinfo"};

	file->is_sure = mounts_device((struct mounts_file){AT_FDCWD, path}, mountinfo, file->seen,
				      &file->dev);
}

static bool same_file(const struct rule_file *a, const struct rule_file *b)
{
	return a->seen == b->seen && a->ino == b->ino;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* An inode may be given again, and a link be switched between two names of one. */
static bool same_look(const struct rule_file *a, const struct rule_file *b)
{
	return same_file(a, b) && a->link == b->link && same_time(&a->changed, &b->changed) &&
	       same_time(&a->link_changed, &b->link_changed);
}

bool rule_follow_exe(struct up_rule *rule, const struct spec_process *spec, struct rule_file *file,
		     bool closely)
{
	struct rule_file now = look_at(spec->exe);
	bool same = same_file(&now, file);
	char real[PATH_MAX];

	if (same_look(&now, file) && !closely)
		return false;
	now.path_hash = file->path_hash;
	if (realpath(spec->exe, real)) {
		set_name(rule, real);
		now.path_hash = hash_of(real);
	}
	now.dev = file->dev;
	now.is_sure = file->is_sure;
	if (!same || !now.is_sure)
		find_device(spec->exe, &now);
	if (now.ino)
		same &= !rule_learn_exe(rule, now.dev, now.ino);
	same &= now.path_hash == file->path_hash;
	*file = now;
	return !same;
}

bool rule_is_at_path(const struct rule_file *file, dev_t dev, ino_t ino)
{
	return file->ino == ino && file->dev == dev;
}

bool rule_knows_others(const struct up_rule *rule, const struct rule_file *file)
{
	for (size_t i = 0; i < UP_RULE_INODES; i++)
		if (rule->exe[i].used &&
		    (rule->exe[i].ino != file->ino || rule->exe[i].dev != kernel_dev(file->dev)))
			return true;
	return false;
}

static bool knows_all_of(const struct up_rule *rule, const struct up_rule *other)
{
	for (size_t i = 0; i < UP_RULE_INODES; i++)
		if (other->exe[i].used && !knows(rule, other->exe[i].dev, other->exe[i].ino))
			return false;
	return true;
}

bool rule_same_exes(const struct up_rule *a, const struct up_rule *b)
{
	return knows_all_of(a, b) && knows_all_of(b, a);
}

/* ---- the whole ---- */

void rule_set_pid(struct up_rule *rule, pid_t named)
{
	rule->parts |= UP_RULE_PID;
	rule->tgid = (uint32_t)named;
}

void rule_make(struct up_rule *rule, const struct spec_process *spec, pid_t named)
{
	unsigned parts = parts_of(spec);

	*rule = (struct up_rule){0};
	if (!parts)
		return; /* the process that is named, whatever it runs */
	if (spec->pid || spec->pidfile)
		rule_set_pid(rule, named);
	if (parts & PROCMATCH_OTHERS)
		rule->parts |= UP_RULE_OTHERS;
	if (parts & PROCMATCH_CGROUP)
		set_cgroup(spec, rule);
	if (parts & PROCMATCH_COMM) {
		rule->parts |= UP_RULE_COMM;
		strncpy(rule->comm, spec->comm, sizeof(rule->comm) - 1);
	}
	if (parts & PROCMATCH_EXE) {
		rule->parts |= UP_RULE_EXE;
		set_name(rule, spec->exe);
	}
}
