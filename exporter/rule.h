/*
 * What of a process filter the kernel programs decide by themselves when a program is started
 * (bpf/select.bpf.h), as far as it can be said of this machine: inodes, cgroup ids, pids.
 */
#ifndef EXPORTER_RULE_H
#define EXPORTER_RULE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "bpf/contract.h"
#include "model/spec.h"

/*
 * `named` is the process that `pid` or `pidfile` names now, 0: none. What file `exe` is of is for
 * rule_follow_exe().
 */
void rule_make(struct up_rule *rule, const struct spec_process *spec, pid_t named);

/* A rule that is about one process comes to be about another. */
void rule_set_pid(struct up_rule *rule, pid_t named);

/* A service that is started again has a new cgroup of the same name: whether the rule changed. */
bool rule_follow_cgroup(struct up_rule *rule, const struct spec_process *spec);

/*
 * Remember an inode that the filter's executable has, as the newest; whether it is a new one. `dev`
 * is as the kernel has it (target/mounts.h).
 */
bool rule_learn_exe(struct up_rule *rule, dev_t dev, ino_t ino);

bool rule_knows_exe(const struct up_rule *rule, dev_t dev, ino_t ino);

/* What the path of `exe` led to when it was last looked at; zero: nothing. */
struct rule_file {
	dev_t dev, seen; /* dev: as the kernel has it; seen: as stat(2) */
	bool is_sure;	 /* else `dev` is what stat(2) tells for want of better */
	ino_t ino, link; /* link: of what is at the path itself */
	struct timespec changed, link_changed;
	uint64_t path_hash; /* of where symbolic links lead */
};

/*
 * The path of `exe` leads to another file than `file`, which is updated, or to another path behind
 * symbolic links: whether the rule changed, or who matches. Folders on the way that are links are
 * looked at only `closely`.
 */
bool rule_follow_exe(struct up_rule *rule, const struct spec_process *spec, struct rule_file *file,
		     bool closely);

bool rule_is_at_path(const struct rule_file *file, dev_t dev, ino_t ino);

/* Whether the rule knows inodes besides that of `file`. */
bool rule_knows_others(const struct up_rule *rule, const struct rule_file *file);

/* Whether the two rules know the same inodes, in whatever order. */
bool rule_same_exes(const struct up_rule *a, const struct up_rule *b);

#endif
