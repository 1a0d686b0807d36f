/* The command line: what is taken, what is refused, and that each flag belongs to its command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

#define PARSE(options, ...)                                                                        \
	parse((options), (char *[]){(char[]){"uprobe_exporter"}, __VA_ARGS__, NULL})
#define ARG(text) ((char[]){text})

static int parse(struct options *options, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return options_parse(options, argc, argv);
}

static void serves_by_default(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, ARG("--config.file=a.yaml")), 0);
	assert_int_equal(options.command, COMMAND_SERVE);
	assert_string_equal(options.config_file, "a.yaml");
	assert_int_equal(options.n_listen, 1);
	assert_string_equal(options.listen[0], ":10435");
	assert_string_equal(options.telemetry_path, "/metrics");
	assert_int_equal(options.tier, TIER_AUTO);
	assert_false(options.perf_force);
	assert_int_equal(options.confine, CONFINE_ALL);
}

static void takes_both_spellings(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, ARG("serve"), ARG("--config.file"), ARG("b.yaml"),
			       ARG("--web.listen-address=:1"), ARG("--web.listen-address"),
			       ARG("[::1]:2"), ARG("--kernel.tier=multi"), ARG("--log.level=debug"),
			       ARG("--log.format=json"), ARG("--kernel.perf-force"),
			       ARG("--security.confine=none")),
			 0);
	assert_int_equal(options.confine, CONFINE_NONE);
	assert_string_equal(options.config_file, "b.yaml");
	assert_int_equal(options.n_listen, 2);
	assert_string_equal(options.listen[1], "[::1]:2");
	assert_int_equal(options.tier, TIER_MULTI);
	assert_int_equal(options.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(options.log_format, LOG_FORMAT_JSON);
	assert_true(options.perf_force);
}

static void lists(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, ARG("list"), ARG("/bin/sh"), ARG("a*"), ARG("--json")), 0);
	assert_string_equal(options.binary, "/bin/sh");
	assert_string_equal(options.pattern, "a*");
	assert_true(options.json);
	/* After `--` a name may begin with dashes. */
	assert_int_equal(PARSE(&options, ARG("list"), ARG("--"), ARG("--odd"), ARG("-x")), 0);
	assert_string_equal(options.binary, "--odd");
	assert_string_equal(options.pattern, "-x");
}

static void asks_for_health(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, ARG("healthcheck")), 0); /* needs no config */
	assert_int_equal(options.command, COMMAND_HEALTHCHECK);
	assert_string_equal(options.listen[0], ":10435");
	assert_int_equal(PARSE(&options, ARG("healthcheck"), ARG("--web.listen-address=[::1]:9")),
			 0);
	assert_string_equal(options.listen[0], "[::1]:9");
}

static void help_and_version_need_nothing_else(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, ARG("--help")), 0);
	assert_true(options.help);
	assert_int_equal(PARSE(&options, ARG("check"), ARG("-h")), 0);
	assert_true(options.help);
	assert_int_equal(PARSE(&options, ARG("--version")), 0);
	assert_true(options.version);
}

static void refuses(void **state)
{
	struct options options;
	int saved = dup(STDERR_FILENO);

	(void)state;
	assert_non_null(freopen("/dev/null", "w", stderr));
	assert_int_not_equal(PARSE(&options, ARG("serve")), 0); /* no config */
	assert_int_not_equal(PARSE(&options, ARG("check")), 0);
	assert_int_not_equal(PARSE(&options, ARG("frobnicate")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.fil=x")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--nope")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("-v")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("stray")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--log.level=loud")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--kernel.tier=best")), 0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--security.confine=no")),
			     0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--kernel.perf-force=1")),
			     0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--web.telemetry-path=m")),
			     0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--web.telemetry-path=/")),
			     0);
	assert_int_not_equal(
		PARSE(&options, ARG("--config.file=x"), ARG("--web.telemetry-path=/-/ready")), 0);
	assert_int_not_equal(
		PARSE(&options, ARG("--config.file=x"), ARG("--web.telemetry-path=/<b>")), 0);
	assert_int_not_equal(PARSE(&options, ARG("check"), ARG("--config.file=x"), ARG("--usdt")),
			     0);
	assert_int_not_equal(PARSE(&options, ARG("--config.file=x"), ARG("--web.systemd-socket"),
				   ARG("--web.listen-address=:1")),
			     0);
	assert_int_not_equal(PARSE(&options, ARG("healthcheck"), ARG("--web.systemd-socket")), 0);
	assert_int_not_equal(PARSE(&options, ARG("healthcheck"), ARG("--config.file=x")), 0);
	assert_int_not_equal(PARSE(&options, ARG("list")), 0);
	assert_int_not_equal(PARSE(&options, ARG("list"), ARG("a"), ARG("b"), ARG("c")), 0);
	assert_int_not_equal(
		PARSE(&options, ARG("list"), ARG("a"), ARG("--usdt"), ARG("--functions")), 0);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

/* Every flag and command that the help of serve names is one that is taken. */
static void help_names_commands(void **state)
{
	struct options options = {.command = COMMAND_SERVE};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	options_help(&options, out);
	fclose(out);
	assert_non_null(strstr(text, "--config.file=FILE"));
	assert_non_null(strstr(text, "--web.listen-address=ADDRESS"));
	assert_non_null(strstr(text, "doctor"));
	assert_non_null(strstr(text, "Exit status: 0"));
	assert_null(strstr(text, "--usdt"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_by_default),
		cmocka_unit_test(takes_both_spellings),
		cmocka_unit_test(lists),
		cmocka_unit_test(asks_for_health),
		cmocka_unit_test(help_and_version_need_nothing_else),
		cmocka_unit_test(refuses),
		cmocka_unit_test(help_names_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
