/*
 * The limit that every tool is held against: an empty program on a function's entry and return.
 * empty BINARY SYMBOL_OFFSET: attaches as a session, prints "ready", and waits for a line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "kernel/link.h"

static int load(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		return -errno;
	program = bpf_object__find_program_by_name(object, "empty");
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)LINK_UPROBE_SESSION);
	int result = bpf_object__load(object);
	return result ? result : bpf_program__fd(program);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: empty OBJECT BINARY OFFSET\n", stderr);
		return 2;
	}
	uint64_t offset = strtoull(argv[3], NULL, 0), cookie = 0;
	struct link_sites sites = {
		.path = argv[2], .offsets = &offset, .cookies = &cookie, .n = 1};
	int program = load(argv[1]);
	int link = program < 0 ? program : link_multi(program, LINK_UPROBE_SESSION, &sites, 0);

	if (link < 0) {
		fprintf(stderr, "empty: %s\n", strerror(-link));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
