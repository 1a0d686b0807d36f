/*
 * The measured functions are written in assembler: the first instruction decides what the kernel
 * does with the probe, and each has one `ret`.
 */
#include "kernel/floor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/linkset.h"
#include "kernel/self.h"
#include "model/layout.h"
#include "model/plan.h"

struct subject {
	const char *entry_class;
	enum exit_strategy strategy;
	void (*function)(void), (*exit)(void);
};

#if defined(__x86_64__)
#define FUNCTION(name, first)                                                                      \
	__asm__(".text\n.balign 16\n.globl " #name "\n"                                            \
		".hidden " #name "\n.type " #name ", @function\n" #name ":\n" first "\n"           \
		".globl " #name "_exit\n.hidden " #name "_exit\n" #name                            \
		"_exit:\nret\n.size " #name ", .-" #name "\n");                                    \
	void name(void);                                                                           \
	void name##_exit(void)

FUNCTION(floor_emulated_return, "push %rbp\npop %rbp");
FUNCTION(floor_emulated_sites, "push %rbp\npop %rbp");
FUNCTION(floor_nop5_return, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
FUNCTION(floor_nop5_sites, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
FUNCTION(floor_stepped_return, "lea (%rdi), %rax");
FUNCTION(floor_stepped_sites, "lea (%rdi), %rax");

static const struct subject subjects[] = {
	{"emulated", STRATEGY_URETPROBE, floor_emulated_return, floor_emulated_return_exit},
	{"emulated", STRATEGY_RETURN_SITES, floor_emulated_sites, floor_emulated_sites_exit},
	{"nop5", STRATEGY_URETPROBE, floor_nop5_return, floor_nop5_return_exit},
	{"nop5", STRATEGY_RETURN_SITES, floor_nop5_sites, floor_nop5_sites_exit},
	{"stepped", STRATEGY_URETPROBE, floor_stepped_return, floor_stepped_return_exit},
	{"stepped", STRATEGY_RETURN_SITES, floor_stepped_sites, floor_stepped_sites_exit},
};
enum { N_SUBJECTS = sizeof(subjects) / sizeof(*subjects) };
_Static_assert(N_SUBJECTS <= PROBE_FLOORS_MOST, "room for every subject");
#else
static const struct subject subjects[1];
enum { N_SUBJECTS = 0 };
#endif

enum { CALLS = 400 };

/* Sites that go into one link. */
struct part {
	uint64_t offsets[PROBE_FLOORS_MOST], cookies[PROBE_FLOORS_MOST];
	size_t n;
	struct linkset links;
};

struct measuring {
	const struct object *object;
	struct maps *maps;
	int series[PROBE_FLOORS_MOST], entry[PROBE_FLOORS_MOST];
	struct part calls, entries, sites;
};

static int add_site(struct part *part, void (*place)(void), int probe)
{
	part->cookies[part->n] = (uint64_t)probe;
	return self_offset((uintptr_t)place, &part->offsets[part->n++]);
}

/* Each subject has an entry, and an exit that may not be used. */
enum { IDS = 2 };

static int add_subject(struct measuring *m, size_t i)
{
	const struct subject *subject = &subjects[i];
	bool by_sites = subject->strategy == STRATEGY_RETURN_SITES;
	struct maps_site site = {.number = (uint32_t)i + 1};
	struct err err;

	m->series[i] = maps_add_series(m->maps, (struct buckets){0}, &err);
	if (m->series[i] < 0)
		return m->series[i];
	int entry = m->entry[i] = maps_take_ids(m->maps, m->series[i], IDS);
	if (entry < 0)
		return entry;
	maps_set_entry(m->maps, entry, by_sites ? UP_PROBE_RETURN_SITES : 0, &site);
	if (!by_sites)
		return add_site(&m->calls, subject->function, entry);
	maps_set_exit(m->maps, entry + 1, entry, &site);
	int result = add_site(&m->sites, subject->exit, entry + 1);
	return result ? result : add_site(&m->entries, subject->function, entry);
}

static int open_part(struct measuring *m, struct part *part, enum link_kind kind)
{
	struct link_sites sites = {
		.path = self_path(),
		.offsets = part->offsets,
		.cookies = part->cookies,
		.n = part->n,
		.pid = getpid(),
	};

	return linkset_open(&part->links, m->object, &sites, kind);
}

static void close_all(struct measuring *m)
{
	linkset_close(&m->entries.links);
	linkset_close(&m->calls.links);
	linkset_close(&m->sites.links);
}

static void enable(const struct measuring *m, bool on)
{
	for (size_t i = 0; i < N_SUBJECTS; i++)
		for (int id = m->entry[i]; id < m->entry[i] + IDS; id++)
			if (on)
				maps_enable(m->maps, id, 0);
			else
				maps_disable(m->maps, id);
}

static int run(struct measuring *m)
{
	struct err err;
	int result = 0;

	for (size_t i = 0; i < N_SUBJECTS && !result; i++)
		result = add_subject(m, i);
	if (!result)
		result = maps_publish(m->maps, &err);
	if (!result)
		result = open_part(m, &m->sites, LINK_EXIT);
	if (!result)
		result = open_part(m, &m->entries, LINK_ENTRY);
	if (!result)
		result = open_part(m, &m->calls, LINK_CALL);
	if (!result) {
		enable(m, true);
		for (size_t i = 0; i < N_SUBJECTS; i++)
			for (int call = 0; call < CALLS; call++)
				subjects[i].function();
		enable(m, false);
	}
	close_all(m);
	return result;
}

/* The geometric middle of the cell that holds the median, in seconds; 0 without observations. */
static double median(const struct reading *reading, const struct up_bounds *layout)
{
	uint64_t count = 0, seen = 0;

	for (uint32_t i = 0; i <= layout->n_edges; i++)
		count += reading->cells[i];
	for (uint32_t i = 0; i < layout->n_edges; i++) {
		seen += reading->cells[i];
		if (count && 2 * seen >= count && i > 0)
			return ((double)layout->edge[i - 1] + (double)layout->edge[i]) / 2e9;
	}
	return 0;
}

static void give_back(const struct measuring *m)
{
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		if (m->entry[i] >= 0)
			maps_give_ids(m->maps, m->entry[i], IDS);
		if (m->series[i] >= 0)
			maps_free_series(m->maps, m->series[i]);
	}
}

size_t floor_measure(const struct object *object, struct maps *maps, struct probe_floor *floors)
{
	struct measuring m = {.object = object, .maps = maps};
	struct up_bounds *layout;

	if (self_is_translated())
		return 0; /* a breakpoint in translated code would be the end */
	for (size_t i = 0; i < PROBE_FLOORS_MOST; i++)
		m.series[i] = m.entry[i] = -1;
	int result = run(&m);
	if (result) {
		give_back(&m);
		log_warn("the probes' own time cannot be measured",
			 LOG_STR("error", strerror(-result)));
		return 0;
	}
	layout = alloc_zero(1, sizeof(*layout));
	layout_build((struct buckets){0}, layout);
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		struct reading reading;
		maps_read(maps, m.series[i], &reading);
		floors[i] = (struct probe_floor){
			.entry_class = subjects[i].entry_class,
			.exit_strategy = exit_strategy_name(subjects[i].strategy),
			.seconds = median(&reading, layout),
		};
	}
	free(layout);
	give_back(&m);
	return N_SUBJECTS;
}
