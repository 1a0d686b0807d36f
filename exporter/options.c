/* Flags and commands as tables. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define ON(command) (1U << (command))
#define ON_ALL	    (ON(COMMAND_COUNT) - 1)

struct flag {
	const char *name;
	const char *value; /* what it takes, for the help; NULL: a switch */
	unsigned commands;
	int (*set)(struct options *options, const char *value); /* 0 or -EINVAL */
	const char *help;
};

static int set_config(struct options *options, const char *value)
{
	options->config_file = value;
	return 0;
}

static int set_listen(struct options *options, const char *value)
{
	if (options->n_listen == OPTIONS_MAX_LISTEN)
		return -EINVAL;
	options->listen[options->n_listen++] = value;
	return 0;
}

static int set_telemetry_path(struct options *options, const char *value)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-";

	/* Beside the landing page and what is under /-/, and fit to be shown in HTML. */
	options->telemetry_path = value;
	return value[0] == '/' && value[1] && strncmp(value, "/-/", 3) &&
			       !value[strspn(value, plain)]
		       ? 0
		       : -EINVAL;
}

static int set_log_level(struct options *options, const char *value)
{
	return log_level_parse(value, &options->log_level);
}

static int set_log_format(struct options *options, const char *value)
{
	return log_format_parse(value, &options->log_format);
}

static int set_tier(struct options *options, const char *value)
{
	return tier_parse(value, &options->tier);
}

static int set_perf_force(struct options *options, const char *value)
{
	(void)value;
	options->perf_force = true;
	return 0;
}

static int set_confine(struct options *options, const char *value)
{
	return confine_parse(value, &options->confine);
}

static int set_auto_reload(struct options *options, const char *value)
{
	(void)value;
	options->auto_reload = true;
	return 0;
}

static int set_enable_lifecycle(struct options *options, const char *value)
{
	(void)value;
	options->enable_lifecycle = true;
	return 0;
}

static int set_systemd_socket(struct options *options, const char *value)
{
	(void)value;
	options->systemd_socket = true;
	return 0;
}

static int set_json(struct options *options, const char *value)
{
	(void)value;
	options->json = true;
	return 0;
}

static int set_functions(struct options *options, const char *value)
{
	(void)value;
	options->functions = true;
	return 0;
}

static int set_usdt(struct options *options, const char *value)
{
	(void)value;
	options->usdt = true;
	return 0;
}

static int set_help(struct options *options, const char *value)
{
	(void)value;
	options->help = true;
	return 0;
}

static int set_version(struct options *options, const char *value)
{
	(void)value;
	options->version = true;
	return 0;
}

static const struct flag flags[] = {
	{"config.file", "FILE", ON(COMMAND_SERVE) | ON(COMMAND_CHECK), set_config,
	 "the targets and functions to measure (YAML); required"},
	{"config.auto-reload", NULL, ON(COMMAND_SERVE), set_auto_reload,
	 "reload the config when its file changes, not only on SIGHUP"},
	{"web.listen-address", "ADDRESS", ON(COMMAND_SERVE) | ON(COMMAND_HEALTHCHECK), set_listen,
	 "where to serve, for example :10435, 127.0.0.1:0 or [::1]:9000; repeatable (default "
	 ":10435)"},
	{"web.systemd-socket", NULL, ON(COMMAND_SERVE), set_systemd_socket,
	 "serve on the sockets of the systemd socket unit that starts this, not on addresses"},
	{"web.telemetry-path", "PATH", ON(COMMAND_SERVE), set_telemetry_path,
	 "where the metrics are (default /metrics); not / and not under /-/"},
	{"web.enable-lifecycle", NULL, ON(COMMAND_SERVE), set_enable_lifecycle,
	 "reload the config on POST /-/reload"},
	{"log.level", "LEVEL", ON_ALL, set_log_level, "debug, info, warn or error (default info)"},
	{"log.format", "FORMAT", ON_ALL, set_log_format, "logfmt or json (default logfmt)"},
	{"kernel.tier", "TIER", ON(COMMAND_SERVE), set_tier,
	 "how to pair entries with exits: auto, session, multi or perf (default auto: the best "
	 "that "
	 "works)"},
	{"kernel.perf-force", NULL, ON(COMMAND_SERVE), set_perf_force,
	 "let the perf tier take more than 100 functions, though it detaches slowly"},
	{"security.confine", "WHAT", ON(COMMAND_SERVE), set_confine,
	 "what to give up once started: all (the default: capabilities and system calls that "
	 "running does not need), capabilities or none"},
	{"json", NULL, ON(COMMAND_CHECK) | ON(COMMAND_LIST) | ON(COMMAND_DOCTOR), set_json,
	 "print JSON"},
	{"functions", NULL, ON(COMMAND_LIST), set_functions, "list functions (the default)"},
	{"usdt", NULL, ON(COMMAND_LIST), set_usdt,
	 "list USDT sites; PATTERN is then about provider:name"},
	{"version", NULL, ON_ALL, set_version, "print the version"},
	{"help", NULL, ON_ALL, set_help, "print this help"},
};

struct command_info {
	const char *name, *arguments, *does, *statuses;
};

static const struct command_info commands[COMMAND_COUNT] = {
	[COMMAND_SERVE] = {"serve", "",
			   "Attach the configured probes and serve their metrics until SIGTERM or "
			   "SIGINT (the default command).",
			   "0 clean stop; 1 cannot start; 2 bad config or usage"},
	[COMMAND_CHECK] = {"check", "",
			   "Resolve and safety-check every configured probe from the files alone; "
			   "attach nothing.",
			   "0 all can be attached; 1 some cannot; 2 bad config or usage"},
	[COMMAND_LIST] =
		{"list", " BINARY [PATTERN]",
		 "List what can be probed in a file; PATTERN is a glob over names.",
		 "0 something matched; 1 nothing did; 2 the file cannot be read, or usage"},
	[COMMAND_DOCTOR] =
		{"doctor", "",
		 "Report kernel features, privileges and limits, and how to mend what is "
		 "missing.",
		 "0 probes can be attached; 1 they cannot; 2 usage"},
	[COMMAND_HEALTHCHECK] =
		{"healthcheck", "",
		 "Ask the exporter that serves on the first address whether it is ready.",
		 "0 ready; 1 not, or nobody answers; 2 usage"},
};

static int find_command(const char *name, enum command *command)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(commands[i].name, name)) {
			*command = (enum command)i;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct flag *find_flag(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (strlen(flags[i].name) == length && !strncmp(flags[i].name, name, length))
			return &flags[i];
	return NULL;
}

__attribute__((format(printf, 1, 2))) static int usage_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("uprobe_exporter: ", stderr);
	vfprintf(stderr, fmt, args);
	fputs("; try --help\n", stderr);
	va_end(args);
	return -EINVAL;
}

/* `--name=value`, `--name value` or `--switch`; moves *at past what it used. */
static int parse_flag(struct options *options, int argc, char **argv, int *at)
{
	const char *name = argv[*at] + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct flag *flag = find_flag(name, length);
	const char *value = equals ? equals + 1 : NULL;

	if (!flag)
		return usage_error("unknown flag --%.*s", (int)length, name);
	if (!(flag->commands & ON(options->command)))
		return usage_error("--%s is not a flag of `%s`", flag->name,
				   commands[options->command].name);
	if (!flag->value && value)
		return usage_error("--%s takes no value", flag->name);
	if (flag->value && !value) {
		if (*at + 1 >= argc)
			return usage_error("--%s needs a value", flag->name);
		value = argv[++*at];
	}
	if (flag->set(options, value))
		return usage_error("bad value `%s` for --%s: %s", value, flag->name, flag->help);
	return 0;
}

static int parse_argument(struct options *options, const char *argument)
{
	if (options->command == COMMAND_LIST && !options->binary)
		options->binary = argument;
	else if (options->command == COMMAND_LIST && !options->pattern)
		options->pattern = argument;
	else
		return usage_error("unexpected argument `%s`", argument);
	return 0;
}

static int check_complete(const struct options *options)
{
	if (options->help || options->version)
		return 0;
	if ((options->command == COMMAND_SERVE || options->command == COMMAND_CHECK) &&
	    !options->config_file)
		return usage_error("`%s` needs --config.file=FILE",
				   commands[options->command].name);
	if (options->command == COMMAND_LIST && !options->binary)
		return usage_error("`list` needs the file to look into");
	if (options->functions && options->usdt)
		return usage_error("--functions and --usdt exclude each other");
	return 0;
}

/* The first word that is not a flag and names a command decides which flags there are. */
static int take_command(struct options *options, int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-')
		return 1;
	if (!find_command(argv[1], &options->command))
		return 2;
	return usage_error("unknown command `%s` (serve, check, list, doctor, healthcheck)",
			   argv[1]);
}

int options_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){.telemetry_path = "/metrics", .log_level = LOG_LEVEL_INFO};
	int at = take_command(options, argc, argv);

	if (at < 0)
		return at;
	for (bool only_arguments = false; at < argc; at++) {
		int result;
		if (!only_arguments && !strcmp(argv[at], "-h")) { /* what hands type */
			options->help = true;
			continue;
		}
		if (!only_arguments && !strcmp(argv[at], "--")) {
			only_arguments = true;
			continue;
		}
		if (!only_arguments && argv[at][0] == '-' && argv[at][1])
			result = argv[at][1] == '-' ? parse_flag(options, argc, argv, &at)
						    : usage_error("unknown flag %s", argv[at]);
		else
			result = parse_argument(options, argv[at]);
		if (result)
			return result;
	}
	if (options->systemd_socket && options->n_listen)
		return usage_error("--web.systemd-socket and --web.listen-address exclude each "
				   "other");
	if (!options->n_listen)
		options->listen[options->n_listen++] = ":10435";
	return check_complete(options);
}

void options_help(const struct options *options, FILE *out)
{
	const struct command_info *command = &commands[options->command];
	const char *prefix = options->command == COMMAND_SERVE ? "[serve]" : command->name;

	fprintf(out, "usage: uprobe_exporter %s%s [flags]\n\n%s\n\nFlags:\n", prefix,
		command->arguments, command->does);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		char name[64];
		if (!(flags[i].commands & ON(options->command)))
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", flags[i].name, flags[i].value ? "=" : "",
			 flags[i].value ? flags[i].value : "");
		fprintf(out, "  %-30s %s\n", name, flags[i].help);
	}
	fprintf(out, "\nExit status: %s.\n", command->statuses);
	if (options->command != COMMAND_SERVE)
		return;
	fputs("\nCommands (uprobe_exporter COMMAND --help tells more):\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].does);
}
