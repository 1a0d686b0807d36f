/*
 * Any bytes as what other processes have a say in: /proc/PID/stat, with the name that a process
 * gives itself, and /proc/PID/cgroup. Answers end, in bounds, and are fit for labels.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "target/cgroup_path.h"
#include "target/procview.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_id(const char *id, size_t room)
{
	size_t n = strnlen(id, room);

	if (n == room)
		abort();
	for (size_t i = 0; i < n; i++)
		if (id[i] <= ' ' || id[i] >= 0x7f || strchr("\\\"'{}/", id[i]))
			abort();
}

static void check_ids(const struct cgroup_ids *ids)
{
	check_id(ids->container, sizeof(ids->container));
	check_id(ids->pod_uid, sizeof(ids->pod_uid));
}

static void patterns(const char *text, size_t size)
{
	if (!glob_fault(text) && glob_is_pattern(text) && glob_matches(text, text, size) &&
	    glob_least_length(text) > size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct procview_stat stat;
	struct cgroup_ids ids;
	char path[512], *text = calloc(size + 1, 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, bytes, size);
	if (procview_parse_stat(text, size, &stat) &&
	    strnlen(stat.comm, sizeof(stat.comm)) == sizeof(stat.comm))
		abort();
	if (cgroup_path_choose(text, size, path, sizeof(path), &ids) &&
	    (path[0] != '/' || strnlen(path, sizeof(path)) == sizeof(path)))
		abort();
	check_ids(&ids);
	cgroup_path_parse(text, &ids);
	check_ids(&ids);
	patterns(text, strlen(text));
	free(text);
	return 0;
}
