/* Findings as a table for people or as JSON lines. */
#include "cmd_doctor.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "kernel/doctor.h"
#include "options.h"

static void put_member(struct strbuf *line, const char *name, const char *value, char before)
{
	strbuf_putc(line, before);
	json_put_string(line, name);
	strbuf_putc(line, ':');
	json_put_string(line, value);
}

static void print_json(const struct finding *finding, FILE *out)
{
	struct strbuf line = {0};

	put_member(&line, "name", finding->name, '{');
	put_member(&line, "state", finding_state_name(finding->state), ',');
	put_member(&line, "detail", finding->detail, ',');
	put_member(&line, "follows", finding->follows, ',');
	put_member(&line, "mend", finding->mend, ',');
	fprintf(out, "%s}\n", strbuf_text(&line));
	strbuf_fini(&line);
}

static void print_text(const struct finding *finding, FILE *out)
{
	fprintf(out, "%-8s %-28s %s\n", finding_state_name(finding->state), finding->name,
		finding->detail);
	if (*finding->follows)
		fprintf(out, "%37s so: %s\n", "", finding->follows);
	if (*finding->mend)
		fprintf(out, "%37s mend: %s\n", "", finding->mend);
}

int cmd_doctor(bool json, FILE *out)
{
	struct doctor doctor;

	doctor_examine(&doctor);
	for (size_t i = 0; i < doctor.n_findings; i++)
		(json ? print_json : print_text)(&doctor.findings[i], out);
	if (!json)
		fprintf(out, "\n%s\n",
			doctor.able ? "Probes can be attached."
				    : "No probe can be attached: see what is missing.");
	bool able = doctor.able;
	doctor_fini(&doctor);
	return able ? EXIT_OK : EXIT_CANNOT;
}
