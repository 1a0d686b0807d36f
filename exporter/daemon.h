/* `uprobe_exporter serve`. */
#ifndef EXPORTER_DAEMON_H
#define EXPORTER_DAEMON_H

#include "model/spec.h"
#include "options.h"

/* Attach and serve until SIGTERM or SIGINT; the exit status. */
int daemon_serve(const struct options *options, const struct spec *spec);

#endif
