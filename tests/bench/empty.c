/*
 * The limit that every tool is held against: an empty program, on the entry and the return of
 * functions (session) or on their entry alone (entry).
 *     empty OBJECT session|entry BINARY OFFSET...
 * attaches, prints "ready", and waits for the end of its input.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "kernel/link.h"

enum { OFFSETS_MOST = 64 };

/* The descriptor of the program, or -errno. */
static int load(const char *path, int attach_type)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		return -errno;
	program = bpf_object__find_program_by_name(object, "empty");
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)attach_type);
	int result = bpf_object__load(object);
	return result ? result : bpf_program__fd(program);
}

int main(int argc, char **argv)
{
	uint64_t offsets[OFFSETS_MOST], cookies[OFFSETS_MOST] = {0};

	if (argc < 5 || argc - 4 > OFFSETS_MOST) {
		fputs("usage: empty OBJECT session|entry BINARY OFFSET...\n", stderr);
		return 2;
	}
	for (int i = 4; i < argc; i++)
		offsets[i - 4] = strtoull(argv[i], NULL, 0);
	struct link_sites sites = {
		.path = argv[3], .offsets = offsets, .cookies = cookies, .n = (size_t)argc - 4};
	int type = strcmp(argv[2], "session") ? LINK_UPROBE_MULTI : LINK_UPROBE_SESSION;
	int program = load(argv[1], type);
	int link = program < 0 ? program : link_multi(program, type, &sites, 0);

	if (link < 0) {
		fprintf(stderr, "empty: %s\n", strerror(-link));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
