/*
 * Who is in which mount namespace. All processes are walked when that is first asked for, and the
 * answer is kept for what is asked in the same breath.
 */
#ifndef TARGET_RESIDENTS_H
#define TARGET_RESIDENTS_H

#include "base/vec.h"
#include "target/procview.h"

struct resident {
	ino_t mount_ns;
	pid_t pid;
};

struct residents {
	bool known;
	VEC(struct resident) list; /* by namespace */
};

/* Gets a look at each process of the namespace, closed behind it; false: no more are wanted. */
typedef bool residents_visit(void *context, struct procview *view);

/* 0, also when there is nobody, or -errno: that cannot be told. */
int residents_each(struct residents *residents, ino_t mount_ns, residents_visit *visit,
		   void *context);

/* What is asked from now on is looked up anew. */
void residents_forget(struct residents *residents);
void residents_fini(struct residents *residents);

/*
 * The regular file that a process finds at a path: a descriptor, the caller's to close; -ENOENT, or
 * -EMFILE when it cannot be told for want of something that is ours, or since mounts change at
 * once.
 */
int residents_open_file(struct procview *view, const char *path);

#endif
