/*
 * Reading the config again: on SIGHUP, on POST /-/reload, and when the file changes if that was
 * asked for. A config that is wrong changes nothing but what is said.
 */
#ifndef EXPORTER_RELOADER_H
#define EXPORTER_RELOADER_H

#include <stdbool.h>

#include "file_stamp.h"
#include "loop.h"
#include "options.h"
#include "probes.h"

struct reloader;

/*
 * All are borrowed and must outlive it, but `stamp`: of the config file, before it was first read.
 */
struct reloader *reloader_new(const struct options *options, struct probes *probes,
			      struct loop *loop, const struct file_stamp *stamp);
void reloader_free(struct reloader *reloader);

/* Reload now: the main thread. Whether the config was right; the log says what became of it. */
bool reloader_run(struct reloader *reloader);
/* Reload if the file has changed and that was asked for: the main thread, now and then. */
void reloader_look(struct reloader *reloader);

enum reload_answer {
	RELOADED,
	RELOAD_CONFIG_WRONG,
	RELOAD_NOT_ASKED,
	RELOAD_BUSY, /* too many wait already */
	RELOAD_STOPPING
};

/* Have the main thread reload and wait for what becomes of it: any other thread. */
enum reload_answer reloader_request(struct reloader *reloader);
/* Let go of threads that wait, now and later: the main thread does not run any more. */
void reloader_stop(struct reloader *reloader);

#endif
