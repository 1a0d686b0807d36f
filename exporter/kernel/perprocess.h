/*
 * Links per process: where a file is mapped by processes that have no part in a target, each
 * process that the target's filter selects gets links of its own, with the kernel's pid filter. The
 * records are those of the group, so that the in-program filter holds all the same and nothing is
 * counted twice: a process runs into its own links only.
 */
#ifndef KERNEL_PERPROCESS_H
#define KERNEL_PERPROCESS_H

#include "kernel/group.h"
#include "kernel/opened.h"

struct per_process;

/* Of a group whose refused sites were dropped; its lists of sites are taken over. */
struct per_process *perprocess_new(struct group *group);
/* Close the links; NULL is fine. First the entries of all. */
void perprocess_close_entries(struct per_process *own);
void perprocess_free(struct per_process *own);

/* See attach_follow_selected() and attach_held_back(). */
void perprocess_follow(struct opened *opened);
enum reason perprocess_held_back(const struct opened *opened, int series, char *detail,
				 size_t size);

#endif
