/*
 * The command line: which command, and its flags. The table in options.c is the only place that
 * names a flag; `--help` is printed from it.
 */
#ifndef EXPORTER_OPTIONS_H
#define EXPORTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/log.h"
#include "confine.h"
#include "kernel/tier.h"

enum command {
	COMMAND_SERVE,
	COMMAND_CHECK,
	COMMAND_LIST,
	COMMAND_DOCTOR,
	COMMAND_HEALTHCHECK,
	COMMAND_COUNT
};

#define OPTIONS_MAX_LISTEN 16

struct options {
	enum command command;
	bool help, version;
	const char *config_file;
	const char *listen[OPTIONS_MAX_LISTEN]; /* n_listen; ":10435" when none is given */
	size_t n_listen;
	bool systemd_socket; /* serve: on the service manager's sockets instead */
	const char *telemetry_path;
	enum log_level log_level;
	enum log_format log_format;
	enum tier tier;
	bool perf_force;
	enum confine_level confine;	    /* serve */
	bool json;			    /* check, list, doctor */
	bool auto_reload, enable_lifecycle; /* serve */
	bool functions, usdt;		    /* list */
	const char *binary, *pattern;	    /* list */
};

/* Exit statuses (see the table of commands in README.md). */
enum { EXIT_OK = 0, EXIT_CANNOT = 1, EXIT_USAGE = 2 };

/*
 * Parse argv. 0, or -EINVAL with one line about the fault on stderr. Strings are borrowed from
 * argv.
 */
int options_parse(struct options *options, int argc, char **argv);

/* The help of a command: what it does, its flags and exit statuses. */
void options_help(const struct options *options, FILE *out);

#endif
