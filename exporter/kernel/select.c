/* Writing rules, running `decide`, and reading what was started. */
#include "kernel/select.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { BATCH = 256 }; /* more than a bucket ever holds */

/* Whom a batch of the ring buffer is told to. */
struct visit {
	select_visit *visit;
	void *context;
};

/* The ring buffer's callback has a context that is set once: this is what it points at now. */
static _Thread_local struct visit *current;

static int tell(void *unused, void *data, size_t size)
{
	const struct up_started *started = data;

	(void)unused;
	if (size >= sizeof(*started) && current)
		current->visit(current->context, started);
	return 0;
}

int select_init(struct select *select, const struct object *object, struct err *err)
{
	select->object = object;
	select->started = ring_buffer__new(object->map_started, tell, NULL, NULL);
	if (select->started)
		return 0;
	return err_set(err, -errno, REASON_OUT_OF_RESOURCES,
		       "cannot map the buffer of started programs: %s", strerror(errno));
}

void select_fini(struct select *select)
{
	ring_buffer__free(select->started); /* NULL is fine */
	select->started = NULL;
}

/* The number of our mount namespace, which is the inode of what stands for it. */
uint32_t select_home_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) ? 0 : (uint32_t)st.st_ino;
}

int select_set_rule(struct select *select, uint32_t filter, uint32_t n, const struct up_rule *rule,
		    struct select_inheritance inheritance)
{
	struct up_inherit inherit;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(select->object->map_inherit, &zero, &inherit))
		return -errno;
	inherit.as_itself[filter] = inheritance.as_itself ? UINT8_MAX : 0;
	inherit.as_descendant[filter] = inheritance.as_descendant ? UINT8_MAX : 0;
	int result = object_map_set(select->object->map_inherit, 0, &inherit);
	if (!result)
		result = object_map_set(select->object->map_rules, filter, rule);
	struct up_filters all;
	if (bpf_map_lookup_elem(select->object->map_filters, &zero, &all))
		return -errno;
	all.n = n;
	all.home_ns = select_home_ns();
	return result ? result : object_map_set(select->object->map_filters, 0, &all);
}

static int decide(const struct select *select, uint64_t args[UP_SELECT_ARGUMENTS])
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args,
		    .ctx_size_in = UP_SELECT_ARGUMENTS * sizeof(*args));

	if (bpf_prog_test_run_opts(select->object->prog_decide, &options))
		return -errno;
	return options.retval ? -ENOSPC : 0;
}

int select_process(struct select *select, const struct select_decision *decision)
{
	uint64_t args[UP_SELECT_ARGUMENTS] = {
		[UP_SELECT_TGID] = (uint64_t)decision->pid,
		[UP_SELECT_START_TICKS] = decision->start_ticks,
		[UP_SELECT_FILTER] = decision->filter,
		[UP_SELECT_INHERITED] = decision->inherited,
		[UP_SELECT_ON] = decision->on ? UINT8_MAX : 0,
		[UP_SELECT_GROUP] = decision->group,
	};

	return decide(select, args);
}

bool select_find(const struct select *select, pid_t pid, struct up_selected *entry)
{
	uint32_t key = (uint32_t)pid;
	bool any = false;

	if (object_find(select->object->map_selected, &key, entry))
		*entry = (struct up_selected){0};
	for (size_t i = 0; i < UP_FILTERS; i++)
		any |= entry->itself[i] || entry->inherited[i];
	return any;
}

int select_set_grouped(struct select *select, bool grouped, bool by_cgroup)
{
	struct up_filters all;
	uint32_t zero = 0;

	if (object_find(select->object->map_filters, &zero, &all))
		return -errno;
	all.grouped = grouped;
	all.by_cgroup = by_cgroup;
	return object_map_set(select->object->map_filters, 0, &all);
}

int select_set_cgroup(struct select *select, uint64_t cgroup, uint32_t group)
{
	int map_fd = select->object->map_cgroup_groups;

	return group ? object_put(map_fd, &cgroup, &group) : object_drop(map_fd, &cgroup);
}

/* In batches: where one asks for the key after a key that was taken out, all begins anew. */
void select_each(const struct select *select, select_entry_visit *visit, void *context)
{
	_cleanup_free_ struct up_selected *entries = alloc_zero(BATCH, sizeof(*entries));
	uint32_t pids[BATCH], cursor = 0;
	bool first = true;
	int error = 0;

	while (!error) {
		uint32_t n = BATCH;
		if (bpf_map_lookup_batch(select->object->map_selected, first ? NULL : &cursor,
					 &cursor, pids, entries, &n, NULL))
			error = errno; /* ENOENT: the end, with what came before it in n */
		if (error && error != ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			visit(context, (pid_t)pids[i], &entries[i]);
		first = false;
	}
}

void select_forget(struct select *select, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(select->object->map_selected, &key);
}

uint64_t select_unheard(const struct select *select, enum up_unheard reason)
{
	uint32_t key = reason;
	uint64_t counter = 0;

	bpf_map_lookup_elem(select->object->map_unheard, &key, &counter);
	return counter;
}

struct clearing {
	struct select *select;
	uint32_t filter;
};

static void clear_one(void *context, pid_t pid, const struct up_selected *entry)
{
	struct clearing *clearing = context;

	struct select_decision decision = {
		.pid = pid, .start_ticks = entry->start_ticks, .filter = clearing->filter};

	for (int inherited = 0; inherited < 2; inherited++) {
		decision.inherited = inherited;
		select_process(clearing->select, &decision);
	}
}

void select_clear(struct select *select, uint32_t filter)
{
	struct clearing clearing = {select, filter};

	select_each(select, clear_one, &clearing);
}

void select_forget_told(struct select *select)
{
	uint32_t keys[BATCH], values[BATCH], cursor, n;
	int result = 0;

	while (!result) { /* ENOENT: it is empty */
		n = BATCH;
		result = bpf_map_lookup_and_delete_batch(select->object->map_told, NULL, &cursor,
							 keys, values, &n, NULL);
	}
}

int select_started_fd(const struct select *select)
{
	return ring_buffer__epoll_fd(select->started);
}

void select_each_started(struct select *select, select_visit *visit, void *context)
{
	struct visit now = {visit, context};
	uint64_t began_ns = clock_now_ns();
	struct up_filters all;
	uint32_t zero = 0;

	current = &now;
	int n = ring_buffer__consume(select->started);
	current = NULL;
	if (n <= 0 || object_find(select->object->map_filters, &zero, &all))
		return;
	all.heard_ns = began_ns;
	object_map_set(select->object->map_filters, 0, &all);
}
