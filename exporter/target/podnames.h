/*
 * Names of Kubernetes pods, which cgroups do not tell: only the pod's uid is there. The kubelet
 * keeps a folder for each pod, /var/log/pods/NAMESPACE_NAME_UID. It is read when a uid is asked for
 * that is not known yet.
 */
#ifndef TARGET_PODNAMES_H
#define TARGET_PODNAMES_H

#include <stdbool.h>
#include <stdint.h>

#define PODNAMES_FOLDER	   "/var/log/pods"
#define PODNAMES_REREAD_NS (2 * (uint64_t)1000000000) /* how often at most it is read again */

struct podnames;

struct podname {
	const char *namespace, *name;
};

/* `folder` is copied. It may be absent: then no pod is known. */
struct podnames *podnames_new(const char *folder, uint64_t reread_ns);
void podnames_free(struct podnames *pods);

/* NULL when unknown; lives until the next call. */
const struct podname *podnames_find(struct podnames *pods, const char *uid);
/* Whether a pod that was asked for a short time ago may still get its name. */
bool podnames_may_come(const struct podnames *pods);

/* The same, having read the folder just now: for a pod that was never asked for. */
const struct podname *podnames_find_new(struct podnames *pods, const char *uid);

/* Whether there is a kubelet that names pods here: the folder had some when it was read. */
bool podnames_has_any(const struct podnames *pods);

#endif
