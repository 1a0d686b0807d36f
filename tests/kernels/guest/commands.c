/* What each kernel must say of itself: doctor, the tier that is chosen, tiers that are refused. */
#include "guest.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define TIERS "session", "multi", "perf"

/* What the refusal of a tier must name. */
static const struct {
	const char *tier, *lacks;
} features[] = {
	{"session", "BPF_TRACE_UPROBE_SESSION"},
	{"multi", "BPF_TRACE_UPROBE_MULTI"},
	{"perf", "bpf_get_attach_cookie"},
	{"auto", "bpf_get_attach_cookie"}, /* with the least of them missing, nothing is left */
};

/* Whether a list with commas contains a word. */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* The line of a text that contains a word, cut off the text, or "". */
static const char *line_with(const char *text, const char *word)
{
	static char line[512];
	const char *at = strstr(text, word), *begin = at;

	if (!at)
		return "";
	while (begin > text && begin[-1] != '\n')
		begin--;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(begin, "\n"), begin);
	return line;
}

static void doctor(const char *tiers)
{
	const char *const names[] = {TIERS}, *const argv[] = {EXPORTER, "doctor", NULL};
	char text[8192], finding[32];
	struct utsname kernel;
	bool able = *tiers;

	case_begin("doctor");
	int status = exporter_run(argv, text, sizeof(text));
	uname(&kernel);
	if (!strstr(text, kernel.release))
		case_fail("doctor does not name the kernel");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(finding, sizeof(finding), "tier %s", names[i]);
		const char *line = line_with(text, finding);
		const char *state = lists(tiers, names[i]) ? "ok " : "missing ";
		if (strncmp(line, state, strlen(state)) != 0)
			case_fail("%s should be %s", finding, state);
	}
	if (status != (able ? 0 : 1))
		case_fail("doctor's exit status is %d", status);
	if (case_failed())
		case_fail("%s", text);
	case_end();
}

/* A tier that the kernel lacks, and `auto` where it lacks all: status 1, and what is missing. */
static void refused(const char *tier, const char *feature)
{
	char text[8192], flag[32];
	const char *const argv[] = {EXPORTER, "--config.file=/tmp/config.yaml",
				    "--web.listen-address=127.0.0.1:0", flag, NULL};

	case_begin("tier %s refused", tier);
	snprintf(flag, sizeof(flag), "--kernel.tier=%s", tier);
	int status = exporter_run(argv, text, sizeof(text));
	if (status != 1)
		case_fail("exit status %d", status);
	if (!strstr(text, "cannot attach probes") || !strstr(text, feature))
		case_fail("it does not say what is missing (%s)", feature);
	if (bpf_objects())
		case_fail("%d BPF objects are left in the kernel", bpf_objects());
	report("note %s: %s", tier, line_with(text, "cannot attach"));
	if (case_failed())
		case_fail("%s", text);
	case_end();
}

/* Left to itself the exporter takes the best tier there is, the first of the list. */
static void chosen(const char *tiers)
{
	struct exporter exporter;
	char kind[64];

	case_begin("the best tier is chosen");
	snprintf(kind, sizeof(kind), "attach_kind=\"%.*s\"", (int)strcspn(tiers, ","), tiers);
	if (exporter_start(&exporter,
			   "targets:\n  - name: victim\n    binary: /victims/threads\n"
			   "    functions: [{symbol: work, exit: uretprobe}]\n",
			   NULL) &&
	    exporter_scrape(&exporter) &&
	    exporter_value(&exporter, "uprobe_exporter_probe_info", kind, NULL) != 1)
		case_fail("not %s: %s", kind,
			  line_with(exporter.metrics, "uprobe_exporter_probe_info{"));
	exporter_stop(&exporter, SIGTERM);
	case_end();
}

void commands_run(const char *tiers, const char *missing)
{
	doctor(tiers);
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (lists(missing, features[i].tier))
			refused(features[i].tier, features[i].lacks);
	if (*tiers)
		chosen(tiers);
}
