/*
 * The links over one list of sites: one file, one process filter, one kind. Whatever the tier, it
 * opens as a whole and closes as a whole.
 */
#ifndef KERNEL_LINKSET_H
#define KERNEL_LINKSET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "kernel/link.h"
#include "kernel/object.h"

struct fd_list { /* grows with vec_push */
	int *at;
	size_t n, room;
};

struct linkset {
	struct fd_list entries; /* closed first */
	struct fd_list
		returns; /* closed last: a call that was entered must find its return probe */
};

enum link_kind {
	LINK_ENTRY, /* function entries, whose returns are not touched */
	LINK_CALL,  /* function entries with the kernel's return probe */
	LINK_EXIT,  /* instructions that leave a function */
	LINK_MARK,  /* USDT sites */
};

/*
 * Link every site. 0, or -errno with nothing left
 * open: the kernel refuses all sites because of one.
 */
int linkset_open(struct linkset *set, const struct object *object, const struct link_sites *sites,
		 enum link_kind kind);
/* Add the links of more sites; on failure the set is as it was before. */
int linkset_add(struct linkset *set, const struct object *object, const struct link_sites *sites,
		enum link_kind kind);

/* Close all, entries first. linkset_close_entries leaves the returns for a later linkset_close. */
void linkset_close_entries(struct linkset *set);
void linkset_close(struct linkset *set);

/*
 * Which sites the kernel refuses, after linkset_open failed: errors[i] becomes -errno or 0. The
 * probes must be disabled, since every site is linked for a moment. Returns how many links were
 * tried. With `together`, sites stay linked until the end, so that one which is refused beside an
 * earlier one (they name different semaphores for one instruction) is found; each takes
 * descriptors.
 */
unsigned linkset_find_refused(const struct object *object, const struct link_sites *sites,
			      enum link_kind kind, bool together, int *errors);

/* Whether an error speaks of one site (an instruction that cannot be probed) or of the whole. */
bool linkset_error_is_of_site(int error);

#endif
