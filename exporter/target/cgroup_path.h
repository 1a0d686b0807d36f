/*
 * What the path of a cgroup tells of the container and the pod that a process is in. The forms are
 * those of containerd, CRI-O, Docker, Podman and the kubelet, with their cgroupfs and systemd
 * drivers; of LXC, systemd-nspawn, Garden and ECS. In a container within a container the innermost
 * container counts, and the outermost pod.
 *
 * A path is no proof: who may make cgroups below its own can give them any name.
 */
#ifndef TARGET_CGROUP_PATH_H
#define TARGET_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_CONTAINER_BYTES 128
#define CGROUP_POD_BYTES       40

struct cgroup_ids {
	char container[CGROUP_CONTAINER_BYTES]; /* id, or name where there are names; "": none */
	char pod_uid[CGROUP_POD_BYTES]; /* with dashes, or a static pod's 32 digits; "": none */
};

/* Any text will do; what is found are letters, digits, and `-`, `_`, `.`, `:`. */
void cgroup_path_parse(const char *path, struct cgroup_ids *ids);

/*
 * Choose among the lines of /proc/PID/cgroup (cgroups(7)) the path that says most: one that names
 * a container or a pod, else one that is not the root; among equals version 2 (`0::`), then the
 * controllers pids, systemd, cpu and memory. A last line without its end is passed over, and so is
 * a path of `room_bytes` or more. False: there is no line.
 */
bool cgroup_path_choose(const char *text, size_t length, char *path, size_t room_bytes,
			struct cgroup_ids *ids);

#endif
