/* Running the program that looks at a mapping of ours. */
#include "kernel/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "bpf/contract.h"

extern const unsigned char bpf_object_mapping[], bpf_object_mapping_end[];

struct mapping {
	struct bpf_object *bpf;
	int program, map; /* owned by `bpf` */
};

int mapping_open(struct mapping **out, struct err *err)
{
	struct mapping *mapping = alloc_zero(1, sizeof(*mapping));
	size_t size = (uintptr_t)bpf_object_mapping_end - (uintptr_t)bpf_object_mapping;

	mapping->bpf = bpf_object__open_mem(bpf_object_mapping, size, NULL);
	int result = mapping->bpf ? bpf_object__load(mapping->bpf) : -errno;
	if (result) {
		mapping_close(mapping);
		return err_set(err, result, REASON_KERNEL_UNSUPPORTED,
			       "the kernel does not tell who maps a file: %s", strerror(-result));
	}
	mapping->program =
		bpf_program__fd(bpf_object__find_program_by_name(mapping->bpf, "look_at"));
	mapping->map = bpf_map__fd(bpf_object__find_map_by_name(mapping->bpf, "mapping"));
	*out = mapping;
	return 0;
}

void mapping_close(struct mapping *mapping)
{
	if (!mapping)
		return;
	bpf_object__close(mapping->bpf);
	free(mapping);
}

static int look_at(const struct mapping *mapping, const void *address, struct mapping_state *state)
{
	uint64_t args[1] = {(uint64_t)(uintptr_t)address};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args, .ctx_size_in = sizeof(args));
	struct up_mapping found = {0};
	uint32_t zero = 0;

	if (bpf_map_update_elem(mapping->map, &zero, &found, BPF_ANY) ||
	    bpf_prog_test_run_opts(mapping->program, &options) ||
	    bpf_map_lookup_elem(mapping->map, &zero, &found))
		return -errno;
	if (!found.found)
		return -EAGAIN; /* the address space was being changed by another thread */
	state->dev = makedev(found.dev >> 20, found.dev & 0xfffff);
	state->ino = found.ino;
	state->by_others = found.shared;
	return 0;
}

int mapping_look(const struct mapping *mapping, int fd, struct mapping_state *state)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	int result = look_at(mapping, page, state);
	munmap(page, size);
	return result;
}
