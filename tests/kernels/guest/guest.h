/*
 * What the parts of the in-guest test program share. It is the first process of a virtual machine
 * (init.c), in which nothing else runs: no shell, no Python, no C library but ours.
 *
 * A check that does not hold calls case_fail() and the case goes on to its end, so that what it
 * started is stopped. What the machine itself should be able to do
 * (fork, pipe, mount) ends the program when it fails.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- results (report.c) ------------------------------------------------------------------ */

/* Where the host reads: lines `case pass|fail SECONDS NAME`, `| text` after a failed one, `note`.
 */
void report_open(const char *device);
void report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void case_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void case_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool case_failed(void);
void case_end(void);

/* End of the machine: something that is no matter of a test went wrong. */
void die(const char *what) __attribute__((noreturn));

/* ---- processes (process.c) --------------------------------------------------------------- */

/* A child with pipes to its standard input and from its standard output. */
struct process {
	pid_t pid; /* 0: none */
	int in, out;
	char answer[1024]; /* the last line it said */
};

#define ARGUMENTS_MAX 16
#define LINE_SECONDS  60 /* how long to wait for a line: emulation is slow */
#define END_SECONDS   240

/* Start argv[0]. With `log` both outputs go to that file instead of to `out`. */
void process_start(struct process *process, const char *const argv[], const char *log);

/* Wait for the next line; case_fail() when none comes. */
bool process_line(struct process *process);

/* Send one line of input: a victim's next round. */
void process_poke(struct process *process);

/* Close its input, send `signal` unless 0, wait: its wait status, -1 after END_SECONDS. */
int process_end(struct process *process, int signal);

/* Whether the code at a function's start differs from the file's: a probe is on it. */
bool process_is_probed(const struct process *process, const char *file, const char *symbol);

/* Sleep a little; for loops that wait. */
void doze(void);
double seconds_now(void);

/* ---- the exporter (exporter.c) ----------------------------------------------------------- */

#define EXPORTER "/bin/uprobe_exporter"

struct exporter {
	struct process process;
	char *metrics; /* the last scrape */
};

/*
 * Start it on a config text, in a tier (NULL: the one that it chooses), and wait until it is
 * ready. False after case_fail() with the log.
 */
bool exporter_start(struct exporter *exporter, const char *config, const char *tier);

/* Fetch /metrics into `metrics`. */
bool exporter_scrape(struct exporter *exporter);

/*
 * Sum of the samples of this name whose labels contain both texts (either may be NULL); -1 when
 * there is none.
 */
long exporter_value(const struct exporter *exporter, const char *name, const char *label,
		    const char *label2);

/*
 * Stop it (SIGTERM must end it with status 0), and require that nothing of it is left in the
 * kernel.
 */
void exporter_stop(struct exporter *exporter, int signal);

/* The end of its log into what case_fail() has said. */
void exporter_tell_log(void);

/* Run a command of the exporter to its end: exit status, what it said in `text`. */
int exporter_run(const char *const argv[], char *text, size_t size);

/* How many BPF programs, maps and links the kernel has. */
int bpf_objects(void);

/* ---- where calls went (account.c) -------------------------------------------------------- */

/* What the metrics must say of one function in the end. */
struct expected {
	const char *function; /* NULL ends a list */
	long observed;
	const char *reason; /* of the abandoned calls; NULL: none, or it does not matter */
	long abandoned;
};

struct account {
	long entries, observed, abandoned, of_reason, lost, in_flight;
};

/* From the last scrape; `of_reason` counts the abandoned calls of the expected reason. */
struct account account_of(const struct exporter *exporter, const char *target,
			  const struct expected *expected);

/* Scrape; the account of each function of the list. */
bool account_before(struct exporter *exporter, const char *target, const struct expected *expected,
		    struct account *before);

/* Scrape until no call is in flight, and require that exactly what is expected was added. */
void account_require(struct exporter *exporter, const char *target, const struct expected *expected,
		     const struct account *before);

/* ---- the tests (tests.c, commands.c) ----------------------------------------------------- */

/* Every test of tests.c in this tier. */
void tests_run(const char *tier);
/* The same of more.c. */
void more_run(const char *tier);

/* What does not depend on a tier; both are lists with commas: what the kernel has, and lacks. */
void commands_run(const char *tiers, const char *missing);

#endif
