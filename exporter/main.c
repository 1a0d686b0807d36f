/* Commands: parse the command line, load the config where one is needed, hand over. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "cmd_check.h"
#include "cmd_doctor.h"
#include "cmd_healthcheck.h"
#include "cmd_list.h"
#include "config/config.h"
#include "daemon.h"
#include "options.h"

/* The spec, or NULL with every fault of the file on stderr; warnings go there as well. */
static struct spec *load_config(const char *path)
{
	struct strbuf diagnostics = {0};
	struct spec *spec = NULL;
	int result = config_load(path, &spec, &diagnostics);

	if (diagnostics.length)
		fputs(strbuf_text(&diagnostics), stderr);
	strbuf_fini(&diagnostics);
	return result ? NULL : spec;
}

static int run_with_config(const struct options *options)
{
	struct file_stamp stamp = file_stamp_of(options->config_file); /* before it is read */
	struct spec *spec = load_config(options->config_file);

	if (!spec)
		return EXIT_USAGE;
	int status = options->command == COMMAND_CHECK ? cmd_check(spec, options->json, stdout)
						       : daemon_serve(options, spec, &stamp);
	spec_free(spec);
	return status;
}

static int run(const struct options *options)
{
	switch (options->command) {
	case COMMAND_SERVE:
	case COMMAND_CHECK:
		return run_with_config(options);
	case COMMAND_LIST:
		return cmd_list(options->binary, options->pattern, options->usdt, options->json,
				stdout);
	case COMMAND_HEALTHCHECK:
		return cmd_healthcheck(options->listen[0]);
	default:
		return cmd_doctor(options->json, stdout);
	}
}

/* Output that cannot be written (a full disk, a closed pipe) is not a success. */
static int finish(int status)
{
	if ((fflush(stdout) || ferror(stdout)) && status == EXIT_OK) {
		fputs("uprobe_exporter: cannot write to standard output\n", stderr);
		return EXIT_CANNOT;
	}
	return status;
}

/*
 * Who starts us may have closed standard descriptors. What is opened next would get their numbers,
 * and the log: in a pipe of ours it would be taken for signals. Writing to O_PATH fails as before.
 */
static void keep_standard_numbers(void)
{
	int fd;

	do
		fd = open("/", O_PATH);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct options options;

	keep_standard_numbers();
	if (options_parse(&options, argc, argv))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN); /* a reader that left is an error of writing, not our end */
	signal(SIGXFSZ, SIG_IGN); /* the same for a log file at its limit */
	log_setup(options.log_level, options.log_format);
	if (options.help) {
		options_help(&options, stdout);
		return finish(EXIT_OK);
	}
	if (options.version) {
		printf("uprobe_exporter, version %s (revision %s)\n", version_number,
		       version_revision);
		return finish(EXIT_OK);
	}
	return finish(run(&options));
}
