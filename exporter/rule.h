/*
 * What of a process filter the kernel programs decide by themselves when a program is started
 * (bpf/select.bpf.h), as far as it can be said of this machine: inodes, cgroup ids, pids.
 */
#ifndef EXPORTER_RULE_H
#define EXPORTER_RULE_H

#include <stdbool.h>
#include <sys/types.h>

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

/* Remember an inode that the filter's executable has, as the newest; whether it is a new one. */
bool rule_learn_exe(struct up_rule *rule, dev_t dev, ino_t ino);

/*
 * The path of `exe` leads to another file than this one (0: none), which is noted, with the name
 * that it has behind symbolic links: whether the rule changed.
 */
bool rule_follow_exe(struct up_rule *rule, const struct spec_process *spec, dev_t *dev, ino_t *ino);

/* Whether the two rules know the same inodes, in whatever order. */
bool rule_same_exes(const struct up_rule *a, const struct up_rule *b);

#endif
