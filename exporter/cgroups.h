/* The unified hierarchy of cgroups (v2), which is the one that kernel programs see. */
#ifndef EXPORTER_CGROUPS_H
#define EXPORTER_CGROUPS_H

#include <stdint.h>

/*
 * The id by which the kernel knows the cgroup of a path, as /proc/PID/cgroup has it; 0: there is
 * none, or its paths are not those of the whole hierarchy (v1, or a cgroup namespace of our own).
 */
uint64_t cgroups_id(const char *path);

#endif
