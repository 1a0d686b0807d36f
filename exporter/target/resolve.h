/*
 * A spec becomes a plan: each configured function is looked up in its file, and whether and how
 * it can be probed is decided from the files and from who maps them. Nothing is attached, and no
 * privilege is needed beyond reading the files.
 */
#ifndef TARGET_RESOLVE_H
#define TARGET_RESOLVE_H

#include "model/plan.h"
#include "model/spec.h"

/*
 * Resolve every function of `spec`, or of the target `only` when it is not NULL. Never fails as
 * a whole: what cannot be attached carries its reason. The caller owns the plan (plan_free).
 */
struct plan *resolve_plan(const struct spec *spec, const struct spec_target *only);

/*
 * Resolve one target with its file as a process sees it whose root is `root_fd`, a descriptor of
 * that directory.
 */
struct plan *resolve_plan_in(const struct spec *spec, const struct spec_target *only, int root_fd);

#endif
