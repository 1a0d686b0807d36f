/*
 * One loaded BPF object: the programs and maps of a tier. The only user of libbpf.
 */
#ifndef KERNEL_OBJECT_H
#define KERNEL_OBJECT_H

#include <stdint.h>

#include "base/err.h"
#include "kernel/tier.h"

/* How the programs were compiled; a tier may come in several forms, of which a kernel takes one. */
struct object_form {
	const char *name; /* "session", "session_ctx", "multi", "perf" */
	enum tier tier;
	const unsigned char *bytes, *end;
	int return_attach_type; /* of the program that sees returns: for link_multi */
	int entry_attach_type;
};

/* Every form, best tier first; ends with a NULL name. */
extern const struct object_form object_forms[];

struct object_sizes {
	uint32_t chunks; /* most chunks of UP_CHUNK_SLOTS slots */
	uint32_t shards;
	uint32_t probes;
	uint32_t grouped; /* pairs of a series and a group */
	uint32_t calls;	  /* open calls of functions with return sites */
};

struct object {
	const struct object_form *form;
	struct bpf_object *bpf; /* owned */
	/* Descriptors owned by `bpf`; -1 where the form has no such program. */
	int prog_session, prog_entry, prog_leave, prog_site, prog_mark;
	int prog_thread_exit, prog_thread_exec, prog_thread_fork, prog_cgroup_moved;
	int prog_decide, prog_take;
	int map_probes, map_bounds, map_chunks, map_calls;
	int map_ended_threads, map_ended_processes, map_retired;
	int map_grouped, map_cgroup_groups, map_told;
	int map_selected, map_rules, map_inherit, map_filters, map_started, map_unheard;
	struct object_sizes sizes;
};

/* Load a form. -errno with `err` on failure: a kernel that lacks something says -EINVAL, -EPERM …
 */
int object_open(struct object *object, const struct object_form *form,
		const struct object_sizes *sizes, struct err *err);
void object_close(struct object *object);

/* A new, zeroed chunk (mmapable array of UP_CHUNK_SLOTS * shards slots): descriptor or -errno. */
int object_new_chunk(const struct object *object);
/* Memory of the maps that are made at load, as the kernel accounts for it. */
uint64_t object_fixed_bytes(const struct object *object);
/* Write one element of a map whose keys are numbers, or take it out. 0 or -errno. */
int object_map_set(int map_fd, uint32_t key, const void *value);
int object_map_delete(int map_fd, uint32_t key);
/* The same for other keys, and reading. */
int object_put(int map_fd, const void *key, const void *value);
int object_drop(int map_fd, const void *key);
int object_find(int map_fd, const void *key, void *value);
/* Put `n` chunks into `chunks`, from index `first` on. 0 or -errno. */
int object_put_chunks(const struct object *object, uint32_t first, const int *fds, uint32_t n);

#endif
