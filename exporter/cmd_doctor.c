/* Findings as a table for people or as JSON lines; those about confinement are added here. */
#include "cmd_doctor.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "confine.h"
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

static void add_kept(struct doctor *doctor, int error)
{
	struct strbuf names = {0};
	struct finding finding = {"confinement: capabilities", FINDING_OK, "", "", ""};

	confine_put_kept(&names, doctor->tier);
	finding.detail = arena_printf(&doctor->arena, "serve keeps %s and sets no_new_privs",
				      *strbuf_text(&names) ? strbuf_text(&names) : "none");
	strbuf_fini(&names);
	if (error) {
		finding.state = FINDING_MISSING;
		finding.detail =
			arena_printf(&doctor->arena, "cannot be dropped: %s", strerror(-error));
		finding.follows = "serve keeps all that it is given, and warns";
		finding.mend = "a seccomp profile that allows capset and prctl";
	}
	doctor_add(doctor, finding);
}

static void add_filter(struct doctor *doctor, const struct confine_trial *trial)
{
	struct finding finding = {"confinement: system calls", FINDING_OK,
				  "serve filters them by seccomp, in all threads", "", ""};

	if (!trial->filters) {
		finding.state = FINDING_INFO;
		finding.detail = "not filtered: built with a sanitizer";
	} else if (trial->syscalls) {
		finding.state = FINDING_MISSING;
		finding.detail = arena_printf(&doctor->arena, "cannot be filtered: %s",
					      strerror(-trial->syscalls));
		finding.follows = "serve runs without a filter, and warns";
		finding.mend = "a kernel with CONFIG_SECCOMP_FILTER=y; in a container, a seccomp "
			       "profile that allows seccomp and prctl";
	}
	doctor_add(doctor, finding);
}

int cmd_doctor(bool json, FILE *out)
{
	struct doctor doctor;

	doctor_examine(&doctor);
	const struct confine_trial trial = confine_try(doctor.tier);
	add_kept(&doctor, trial.capabilities);
	add_filter(&doctor, &trial);
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
