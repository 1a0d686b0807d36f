/* `uprobe_exporter serve`. */
#ifndef EXPORTER_DAEMON_H
#define EXPORTER_DAEMON_H

#include "file_stamp.h"
#include "model/spec.h"
#include "options.h"

/*
 * Attach and serve until SIGTERM or SIGINT; the exit status. `stamp` is of the config file, before
 * the spec was read from it.
 */
int daemon_serve(const struct options *options, const struct spec *spec,
		 const struct file_stamp *stamp);

#endif
