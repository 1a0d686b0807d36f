/*
 * USDT probes of a config against one file: which sites they have there, and what tells the end of
 * a measurement from that of another.
 */
#ifndef TARGET_USDT_H
#define TARGET_USDT_H

#include "base/arena.h"
#include "model/plan.h"
#include "target/sdt.h"

/* The sites of one file, read when the first probe asks. Zeroed is unread. */
struct usdt_file {
	bool read;
	enum reason reason; /* why they cannot be read; REASON_NONE */
	const char *detail;
	struct sdt sdt;
};

/*
 * Find the sites of a probe whose file is known: its marks, or its reason and detail. All of it, of
 * `file` too, lives in the arena.
 */
void usdt_resolve(struct usdt_file *file, struct plan_probe *probe, struct arena *arena);

#endif
