/* The links that are open, the probes that they are for, and how those are taken away again. */
#ifndef KERNEL_OPENED_H
#define KERNEL_OPENED_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/linking.h"
#include "kernel/load.h"
#include "kernel/sites.h"

/* A probe that is linked: the records that are its own, and where its entry sits. */
struct member {
	int series; /* -1: taken away, while the link stays for the others */
	int first;  /* of n_ids probe ids, the entry's first; -1: none */
	size_t n_ids;
	bool has_site;
	struct sites_place place;
	uint32_t member; /* of those at the place */
};

/* The links of one group, as long as they are open. */
struct open_group {
	dev_t dev; /* of the file */
	ino_t ino;
	pid_t pid; /* of the process filter; 0: none */
	struct linked linked;
	bool keeps_calls; /* in the map `calls` */
	size_t n_entries; /* linked */
	VEC(struct member) members;
	struct per_process *per_process; /* owned: the links are there, `linked` has none; NULL */
};

struct opened_file {
	dev_t dev;
	ino_t ino;
};

/* Zeroed but for `loaded` and `perf_room` is empty. */
struct opened {
	const struct loaded *loaded; /* borrowed */
	VEC(struct open_group) groups;
	struct sites sites;
	size_t perf_room; /* functions that the perf tier may still take */
};

/*
 * Whether a series is fed from this place already: probes that share one lose their file and find
 * it again one target after another.
 */
bool opened_measures(const struct opened *opened, struct sites_place place, int series);

/* Give back the records and the place of a probe that no link leads to. */
void opened_give_back(struct opened *opened, const struct member *member);

/* Close the groups of a file, of a process filter, or all of them. */
void opened_close_file(struct opened *opened, dev_t dev, ino_t ino);
void opened_close_process(struct opened *opened, pid_t pid);
void opened_fini(struct opened *opened);

/*
 * Take the members of these `n` series away, in one file or (NULL) in all. A group is closed when
 * none is left in it.
 */
void opened_remove(struct opened *opened, const struct opened_file *file, const int *series,
		   size_t n);

#endif
