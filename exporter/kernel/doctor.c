/* The examination, a function a finding. */
#include "kernel/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "kernel/attach.h"
#include "kernel/link.h"
#include "kernel/privs.h"

enum { FINDINGS_MAX = 32 };

static const char *const state_names[] = {"ok", "missing", "info"};

const char *finding_state_name(enum finding_state state)
{
	return state_names[state];
}

void doctor_add(struct doctor *doctor, struct finding finding)
{
	if (doctor->n_findings < FINDINGS_MAX)
		doctor->findings[doctor->n_findings++] = finding;
}

static void examine_kernel(struct doctor *doctor)
{
	struct utsname name;
	const char *text = "unknown";

	if (!uname(&name))
		text = arena_printf(&doctor->arena, "%s %s %s", name.sysname, name.release,
				    name.machine);
	doctor_add(doctor, (struct finding){"kernel", FINDING_INFO, text, "", ""});
}

static void examine_btf(struct doctor *doctor)
{
	bool there = !access("/sys/kernel/btf/vmlinux", R_OK);

	doctor_add(
		doctor,
		(struct finding){"kernel BTF", there ? FINDING_OK : FINDING_MISSING,
				 there ? "/sys/kernel/btf/vmlinux"
				       : arena_printf(&doctor->arena, "/sys/kernel/btf/vmlinux: %s",
						      strerror(errno)),
				 there ? "" : "no program can be loaded",
				 there ? ""
				       : "a kernel with CONFIG_DEBUG_INFO_BTF=y; in a container, "
					 "mount /sys read-only"});
}

struct capability {
	int number;
	const char *name, *without, *mend;
};

static const struct capability capabilities[] = {
	{CAP_BPF, "CAP_BPF", "no program can be loaded", "grant CAP_BPF"},
	{CAP_PERFMON, "CAP_PERFMON", "no tracing program can be loaded", "grant CAP_PERFMON"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
	 "processes of other users cannot be looked into (who maps a file, process filters)",
	 "grant CAP_SYS_PTRACE"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	 "binaries that only their owner may read cannot be resolved", "grant CAP_DAC_READ_SEARCH"},
};

static void examine_capabilities(struct doctor *doctor)
{
	bool admin = privs_has(CAP_SYS_ADMIN);

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		const struct capability *c = &capabilities[i];
		/* CAP_SYS_ADMIN includes what was split from it. */
		bool split = c->number == CAP_BPF || c->number == CAP_PERFMON;

		if (privs_has(c->number))
			doctor_add(doctor, (struct finding){c->name, FINDING_OK, "held", "", ""});
		else if (split && admin)
			doctor_add(doctor, (struct finding){c->name, FINDING_INFO,
							    "not held: CAP_SYS_ADMIN stands for it",
							    "", ""});
		else
			doctor_add(doctor, (struct finding){c->name, FINDING_MISSING, "not held",
							    c->without, c->mend});
	}
}

/* Wanted by the last tier only. Whether another works cannot be tried without what all need. */
static void examine_admin(struct doctor *doctor)
{
	struct finding finding = {"CAP_SYS_ADMIN", FINDING_INFO, "not held",
				  "the perf tier is refused",
				  "not needed where the session or multi tier works"};

	if (privs_has(CAP_SYS_ADMIN)) {
		finding = (struct finding){"CAP_SYS_ADMIN", FINDING_OK, "held", "", ""};
	} else if (!doctor->able && privs_has(CAP_BPF) && privs_has(CAP_PERFMON)) {
		finding.state = FINDING_MISSING;
		finding.mend = "grant CAP_SYS_ADMIN: this kernel has the perf tier only";
	}
	doctor_add(doctor, finding);
}

static void examine_confinement(struct doctor *doctor)
{
	bool seccomp = privs_under_seccomp(), userns = privs_in_user_namespace();

	doctor_add(doctor,
		   (struct finding){"seccomp", FINDING_INFO,
				    seccomp ? "a filter is on this process" : "no filter",
				    seccomp ? "bpf and perf_event_open must be allowed by it" : "",
				    ""});
	doctor_add(
		doctor,
		(struct finding){"user namespace", userns ? FINDING_MISSING : FINDING_OK,
				 userns ? "not the initial one" : "the initial one",
				 userns ? "capabilities held here do not count for the kernel" : "",
				 userns ? "run without user namespace remapping" : ""});
}

static void examine_lockdown(struct doctor *doctor)
{
	_cleanup_close_ int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return; /* not built in, or securityfs not mounted: nothing to say */
	text[strcspn(text, "\n")] = '\0';
	bool confidential = strstr(text, "[confidentiality]") != NULL;
	doctor_add(doctor,
		   (struct finding){"lockdown", confidential ? FINDING_MISSING : FINDING_OK,
				    arena_strdup(&doctor->arena, text),
				    confidential ? "BPF may not read the memory of processes" : "",
				    confidential ? "boot with lockdown=integrity or none" : ""});
}

/* A fact only: for the events of uprobes the kernel wants CAP_SYS_ADMIN whatever it says. */
static void examine_sysctls(struct doctor *doctor)
{
	long paranoid = privs_read_number("/proc/sys/kernel/perf_event_paranoid", -100);

	if (paranoid == -100)
		return;
	doctor_add(doctor, (struct finding){"kernel.perf_event_paranoid", FINDING_INFO,
					    arena_printf(&doctor->arena, "%ld", paranoid), "", ""});
}

static void examine_limits(struct doctor *doctor)
{
	struct rlimit files = {0};

	getrlimit(RLIMIT_NOFILE, &files);
	bool low = files.rlim_max < 1024;
	doctor_add(doctor, (struct finding){"open files", low ? FINDING_MISSING : FINDING_OK,
					    arena_printf(&doctor->arena, "soft %lu, hard %lu",
							 (unsigned long)files.rlim_cur,
							 (unsigned long)files.rlim_max),
					    low ? "the perf tier takes four a function" : "",
					    low ? "raise LimitNOFILE / ulimit -Hn" : ""});
}

static void examine_pmu(struct doctor *doctor)
{
	int type = link_perf_pmu_type();

	doctor_add(doctor,
		   (struct finding){"uprobe events", type >= 0 ? FINDING_OK : FINDING_MISSING,
				    type >= 0 ? arena_printf(&doctor->arena, "PMU type %d", type)
					      : "no /sys/bus/event_source/devices/uprobe",
				    type >= 0 ? "" : "the perf tier does not work",
				    type >= 0 ? "" : "a kernel with CONFIG_UPROBE_EVENTS=y"});
}

struct tier_info {
	enum tier tier;
	const char *name, *without;
};

static const struct tier_info tiers[] = {
	{TIER_SESSION, "tier session",
	 "entry and exit take two links and two programs (kernel 6.13)"},
	{TIER_MULTI, "tier multi", "each function takes descriptors of its own (kernel 6.6)"},
	{TIER_PERF, "tier perf", "there is nothing to fall back on (kernel 5.15)"},
};

static bool examine_tier(struct doctor *doctor, const struct tier_info *info)
{
	static const atomic_bool never;
	struct attach_options options = {
		.stop = &never,
		.tier = info->tier,
		.limits = {.series = 1, .in_flight = 1, .shards = 1},
	};
	struct attach *attach;
	struct err err;

	if (attach_open(&options, &attach, &err)) {
		doctor_add(doctor, (struct finding){info->name, FINDING_MISSING,
						    arena_strdup(&doctor->arena, err.msg),
						    info->without, ""});
		return false;
	}
	bool covers = attach_pid_filter_covers_threads(attach);
	bool spares = attach_is_sandbox_safe(attach);
	attach_close(attach);
	doctor_add(doctor, (struct finding){info->name, FINDING_OK,
					    "counts a function of the exporter exactly", "", ""});
	if (!covers)
		doctor_add(
			doctor,
			(struct finding){"pid filter", FINDING_MISSING,
					 "the kernel's covers one thread only (mended in 6.10)",
					 "filtered targets get a link for every process, filtered "
					 "in the program",
					 ""});
	if (!spares)
		doctor_add(doctor,
			   (struct finding){"return probes", FINDING_MISSING,
					    "they trip the seccomp filters of sandboxed programs "
					    "(kernels from 6.11, mended later)",
					    "exit: auto uses none", "a newer kernel"});
	return true;
}

void doctor_examine(struct doctor *doctor)
{
	memset(doctor, 0, sizeof(*doctor));
	doctor->findings = arena_array(&doctor->arena, FINDINGS_MAX, sizeof(*doctor->findings));
	examine_kernel(doctor);
	examine_btf(doctor);
	examine_capabilities(doctor);
	examine_confinement(doctor);
	examine_lockdown(doctor);
	examine_sysctls(doctor);
	examine_limits(doctor);
	examine_pmu(doctor);
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++) {
		bool works = examine_tier(doctor, &tiers[i]);

		if (works && !doctor->able)
			doctor->tier = tiers[i].tier;
		doctor->able |= works;
	}
	examine_admin(doctor);
}

void doctor_fini(struct doctor *doctor)
{
	arena_fini(&doctor->arena);
}
