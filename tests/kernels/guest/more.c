/* USDT sites, process filters and replaced files, once a tier: what older kernels do differently.
 */
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS "20"

static void start(struct process *process, const char *file, const char *first, const char *second,
		  const char *third)
{
	const char *argv[] = {file, first, second, third, NULL};

	process_start(process, argv, NULL);
	process_line(process);
}

static void round_of(struct process *process)
{
	process_poke(process);
	process_line(process);
}

static void require(const struct exporter *exporter, const char *name, const char *label,
		    const char *label2, long expected)
{
	long value = exporter_value(exporter, name, label, label2);

	if (value != expected)
		case_fail("%s %s %s is %ld, not %ld", name, label, label2 ? label2 : "", value,
			  expected);
}

static void require_answer(const struct process *victim, const char *text)
{
	if (!strstr(victim->answer, text))
		case_fail("the victim said `%s`, without %s", victim->answer, text);
}

/* Hits of several sites, semaphores, pairs by thread and by an argument: marks.c says what of each.
 */
static void sites(const char *tier)
{
	static const char config[] =
		"targets:\n  - name: marks\n    binary: /victims/marks\n    usdt:\n"
		"      - probe: marks:hit\n"
		"      - probe: marks:gated\n"
		"      - {name: work, start: \"marks:work__start\", end: \"marks:work__done\"}\n"
		"      - {name: request, start: \"marks:request__start\", end: "
		"\"marks:request__done\", key: {start: arg1, end: arg2}}\n"
		"      - {name: again, start: \"marks:again__start\", end: "
		"\"marks:again__done\"}\n";
	struct process early, late;
	struct exporter exporter;

	case_begin("%s USDT sites", tier);
	start(&early, "/victims/marks", CALLS, "2", NULL);
	bool started = exporter_start(&exporter, config, tier);
	start(&late, "/victims/marks", CALLS, "2", NULL);
	if (started) {
		round_of(&early);
		require_answer(&early, "\"gates\":[1,1]");
		round_of(&late);
		require_answer(&late, "\"gates\":[1,1]");
		exporter_scrape(&exporter);
		require(&exporter, "uprobe_usdt_hits_total", "probe=\"marks:hit\"", NULL, 120);
		require(&exporter, "uprobe_usdt_hits_total", "probe=\"marks:gated\"", NULL, 80);
		require(&exporter, "uprobe_usdt_duration_seconds_count", "\"work\"", NULL, 80);
		require(&exporter, "uprobe_usdt_duration_seconds_count", "\"request\"", NULL, 40);
		require(&exporter, "uprobe_usdt_duration_seconds_count", "\"again\"", NULL, 40);
		require(&exporter, "uprobe_usdt_abandoned_starts_total", "\"again\"",
			"\"overwritten\"", 40);
	}
	exporter_stop(&exporter, SIGTERM);
	round_of(&early);
	require_answer(&early, "\"gates\":[0,0]");
	process_end(&early, 0);
	process_end(&late, 0);
	case_end();
}

/* Two names of one file, of which one is selected: there before and started after. */
static void filter(const char *tier)
{
	static const char config[] = "targets:\n  - name: threads\n    binary: /victims/threads\n"
				     "    process: {comm: chosen}\n"
				     "    functions: [{symbol: work, exit: uretprobe}]\n";
	static const char *const files[] = {"/victims/chosen", "/victims/other"};
	struct process victims[4];
	struct exporter exporter;

	case_begin("%s process filter by name", tier);
	for (size_t i = 0; i < 2; i++) {
		if (link("/victims/threads", files[i]) && errno != EEXIST)
			die("link");
		start(&victims[i], files[i], "2", "50", "early");
	}
	bool started = exporter_start(&exporter, config, tier);
	for (size_t i = 0; i < 2; i++)
		start(&victims[2 + i], files[i], "2", "50", "late");
	if (started) {
		for (size_t i = 0; i < 4; i++)
			round_of(&victims[i]);
		exporter_scrape(&exporter);
		require(&exporter, "uprobe_function_duration_seconds_count", "\"work\"", NULL, 200);
	}
	for (size_t i = 0; i < 4; i++)
		process_end(&victims[i], 0);
	exporter_stop(&exporter, SIGTERM);
	case_end();
}

static bool upgraded(struct exporter *exporter)
{
	double until = seconds_now() + END_SECONDS;

	do {
		doze();
		if (exporter_scrape(exporter) &&
		    exporter_value(exporter, "uprobe_exporter_target_upgrades_total", NULL, NULL) ==
			    1 &&
		    exporter_value(exporter, "uprobe_exporter_probe_attached", NULL, NULL) == 1)
			return true;
	} while (seconds_now() < until);
	case_fail("the new file is not probed");
	return false;
}

/* The file is replaced by another one: both are counted. */
static void replaced(const char *tier)
{
	static const char config[] = "targets:\n  - name: current\n    binary: /victims/current\n"
				     "    functions: [{symbol: work, exit: uretprobe}]\n";
	struct process old, new;
	struct exporter exporter;

	case_begin("%s a file that is replaced", tier);
	unlink("/victims/current");
	if (symlink("threads", "/victims/current"))
		die("symlink");
	start(&old, "/victims/current", "1", "50", "early");
	if (exporter_start(&exporter, config, tier)) {
		round_of(&old);
		if (symlink("threads.nopie", "/victims/current.new") ||
		    rename("/victims/current.new", "/victims/current"))
			die("rename");
		if (upgraded(&exporter)) {
			start(&new, "/victims/current", "1", "50", "early");
			round_of(&old);
			round_of(&new);
			exporter_scrape(&exporter);
			require(&exporter, "uprobe_function_duration_seconds_count", "\"work\"",
				NULL, 150);
			process_end(&new, 0);
		}
	}
	process_end(&old, 0);
	exporter_stop(&exporter, SIGTERM);
	case_end();
}

void more_run(const char *tier)
{
	sites(tier);
	filter(tier);
	replaced(tier);
}
