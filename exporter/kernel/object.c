/* Loading the embedded BPF objects. */
#include "kernel/object.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "bpf/contract.h"
#include "kernel/link.h"

#define EMBEDDED(name)                                                                             \
	extern const unsigned char bpf_object_##name[];                                            \
	extern const unsigned char bpf_object_##name##_end[]
EMBEDDED(session);
EMBEDDED(session_ctx);
EMBEDDED(multi);
EMBEDDED(perf);

#define FORM(form, t, at_return, at_entry)                                                         \
	{                                                                                          \
		.name = #form, .tier = (t), .bytes = bpf_object_##form,                            \
		.end = bpf_object_##form##_end, .return_attach_type = (at_return),                 \
		.entry_attach_type = (at_entry),                                                   \
	}

/* The session kfunc takes the context on kernels after 6.18: two forms, the older first. */
const struct object_form object_forms[] = {
	FORM(session, TIER_SESSION, LINK_UPROBE_SESSION, LINK_UPROBE_MULTI),
	FORM(session_ctx, TIER_SESSION, LINK_UPROBE_SESSION, LINK_UPROBE_MULTI),
	FORM(multi, TIER_MULTI, LINK_UPROBE_MULTI, LINK_UPROBE_MULTI),
	FORM(perf, TIER_PERF, 0, 0),
	{.name = NULL},
};

/*
 * libbpf's own words go to the debug log: what a person needs is said by our own messages. Of a
 * verifier's log the end tells what was wrong.
 */
static int log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	enum { TAIL = 3000 };
	char *text = NULL;

	if (level == LIBBPF_DEBUG || !log_enabled(LOG_LEVEL_DEBUG))
		return 0;
	int length = vasprintf(&text, format, args);
	if (length < 0)
		return 0;
	while (length > 0 && text[length - 1] == '\n')
		text[--length] = '\0';
	log_debug("libbpf", LOG_STR("text", length > TAIL ? text + length - TAIL : text));
	free(text);
	return length;
}

static const char *suffix(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end) ? text + n - m : NULL;
}

/* `up_shards` is the only variable in .rodata: its initial value is the map's first word. */
static int set_shards(struct bpf_object *bpf, uint32_t shards)
{
	struct bpf_map *map;

	bpf_object__for_each_map(
		map, bpf) if (suffix(bpf_map__name(map),
				     ".rodata")) return bpf_map__set_initial_value(map, &shards,
										   sizeof(shards));
	return -ENOENT;
}

/* The kernel learns the shape of chunks from a sample, which is only needed while loading. */
static int set_sizes(const struct object *object, int sample_fd)
{
	const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {
		{"probes", object->sizes.probes},
		{"calls", object->sizes.calls},
		{"grouped", object->sizes.grouped},
		{"chunks", object->sizes.chunks},
	};
	struct bpf_map *map = NULL;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		map = bpf_object__find_map_by_name(object->bpf, sizes[i].map);
		int result = map ? bpf_map__set_max_entries(map, sizes[i].entries) : -ENOENT;
		if (result)
			return result;
	}
	int result = bpf_map__set_inner_map_fd(map, sample_fd); /* of the last one */
	return result ? result : set_shards(object->bpf, object->sizes.shards);
}

static void set_attach_type(struct bpf_object *bpf, const char *name, int type)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(bpf, name);

	if (prog)
		bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)type);
}

static int program_fd(struct bpf_object *bpf, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(bpf, name);

	return prog ? bpf_program__fd(prog) : -1;
}

static int map_fd(struct bpf_object *bpf, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(bpf, name);

	return map ? bpf_map__fd(map) : -1;
}

static void find_descriptors(struct object *object)
{
	struct bpf_object *bpf = object->bpf;

	object->prog_session = program_fd(bpf, "session");
	object->prog_entry = program_fd(bpf, "entry");
	object->prog_leave = program_fd(bpf, "leave");
	object->prog_site = program_fd(bpf, "site");
	object->prog_mark = program_fd(bpf, "mark");
	object->prog_thread_exit = program_fd(bpf, "thread_exit");
	object->prog_thread_exec = program_fd(bpf, "thread_exec");
	object->prog_thread_fork = program_fd(bpf, "thread_fork");
	object->prog_cgroup_moved = program_fd(bpf, "cgroup_moved");
	object->prog_decide = program_fd(bpf, "decide");
	object->prog_take = program_fd(bpf, "take");
	object->map_probes = map_fd(bpf, "probes");
	object->map_bounds = map_fd(bpf, "bounds");
	object->map_chunks = map_fd(bpf, "chunks");
	object->map_calls = map_fd(bpf, "calls");
	object->map_ended_threads = map_fd(bpf, "ended_threads");
	object->map_ended_processes = map_fd(bpf, "ended_processes");
	object->map_retired = map_fd(bpf, "retired");
	object->map_grouped = map_fd(bpf, "grouped");
	object->map_cgroup_groups = map_fd(bpf, "cgroup_groups");
	object->map_told = map_fd(bpf, "told");
	object->map_selected = map_fd(bpf, "selected");
	object->map_rules = map_fd(bpf, "rules");
	object->map_inherit = map_fd(bpf, "inherit");
	object->map_filters = map_fd(bpf, "filters");
	object->map_started = map_fd(bpf, "started");
	object->map_unheard = map_fd(bpf, "unheard");
}

static int load(const struct object *object)
{
	_cleanup_close_ int sample_fd = object_new_chunk(object);

	if (sample_fd < 0)
		return sample_fd;
	int result = set_sizes(object, sample_fd);
	return result ? result : bpf_object__load(object->bpf);
}

int object_open(struct object *object, const struct object_form *form,
		const struct object_sizes *sizes, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "uprobe_exporter");
	int result;

	libbpf_set_print(log_libbpf);
	memset(object, 0, sizeof(*object));
	object->form = form;
	object->sizes = *sizes;
	object->bpf =
		bpf_object__open_mem(form->bytes, (size_t)(form->end - form->bytes), &options);
	if (!object->bpf)
		return err_set(err, -errno, REASON_INTERNAL, "BPF object %s cannot be read: %s",
			       form->name, strerror(errno));
	set_attach_type(object->bpf, "session", form->return_attach_type);
	set_attach_type(object->bpf, "leave", form->return_attach_type);
	set_attach_type(object->bpf, "entry", form->entry_attach_type);
	set_attach_type(object->bpf, "site", form->entry_attach_type);
	set_attach_type(object->bpf, "mark", form->entry_attach_type);
	result = load(object);
	if (result) {
		object_close(object);
		return err_set(err, result, REASON_KERNEL_UNSUPPORTED,
			       "the kernel does not load the %s programs: %s", form->name,
			       strerror(-result));
	}
	find_descriptors(object);
	return 0;
}

void object_close(struct object *object)
{
	bpf_object__close(object->bpf); /* NULL is fine */
	object->bpf = NULL;
}

int object_new_chunk(const struct object *object)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "chunk", sizeof(uint32_t),
				sizeof(struct up_slot), UP_CHUNK_SLOTS * object->sizes.shards,
				&options);

	return fd < 0 ? -errno : fd;
}

int object_put(int fd, const void *key, const void *value)
{
	return bpf_map_update_elem(fd, key, value, BPF_ANY) ? -errno : 0;
}

int object_drop(int fd, const void *key)
{
	return bpf_map_delete_elem(fd, key) ? -errno : 0;
}

int object_find(int fd, const void *key, void *value)
{
	return bpf_map_lookup_elem(fd, key, value) ? -errno : 0;
}

int object_map_set(int fd, uint32_t key, const void *value)
{
	return object_put(fd, &key, value);
}

int object_map_delete(int fd, uint32_t key)
{
	return object_drop(fd, &key);
}

/*
 * All at once: after a change of a map of maps the kernel waits until no program sees the old
 * content, which for 10,000 series one by one is more than a second. Before 5.19 it takes them
 * only one by one.
 */
int object_put_chunks(const struct object *object, uint32_t first, const int *fds, uint32_t n)
{
	_cleanup_free_ uint32_t *keys = alloc_zero(n, sizeof(*keys));
	uint32_t done = n;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = first + i;
	if (!bpf_map_update_batch(object->map_chunks, keys, fds, &done, NULL))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int result = object_map_set(object->map_chunks, keys[i], &fds[i]);
		if (result)
			return result;
	}
	return 0;
}

/* The `memlock` line of a map's fdinfo: the bytes that are charged for it. */
static uint64_t charged_bytes(int fd)
{
	char path[64], line[128];
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	FILE *info = fopen(path, "re");
	if (!info)
		return 0;
	while (fgets(line, sizeof(line), info))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	fclose(info);
	return bytes;
}

uint64_t object_fixed_bytes(const struct object *object)
{
	struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, object->bpf) bytes += charged_bytes(bpf_map__fd(map));
	return bytes;
}
