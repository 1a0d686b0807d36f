/* The exporter as a user meets it: a config, a process, its log, its metrics, its end. */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIG	      "/tmp/config.yaml"
#define LOG	      "/tmp/log"
#define PORT	      10435
#define READY_SECONDS 120

/* ---- what is in the kernel --------------------------------------------------------------- */

static int count_ids(int command)
{
	union bpf_attr attr = {0};
	int n = 0;

	while (!syscall(SYS_bpf, command, &attr, sizeof(attr))) {
		attr.start_id = attr.next_id;
		n++;
	}
	return n;
}

int bpf_objects(void)
{
	return count_ids(BPF_PROG_GET_NEXT_ID) + count_ids(BPF_MAP_GET_NEXT_ID) +
	       count_ids(BPF_LINK_GET_NEXT_ID);
}

/* What the exporter held is freed a moment after its end. */
static void require_nothing_left(void)
{
	double until = seconds_now() + END_SECONDS;

	while (bpf_objects()) {
		if (seconds_now() > until) {
			case_fail("%d BPF objects are left in the kernel", bpf_objects());
			return;
		}
		doze();
	}
}

/* ---- HTTP -------------------------------------------------------------------------------- */

static int request(const char *path)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    dprintf(fd, "GET %s HTTP/1.0\r\n\r\n", path) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Everything up to the end of a descriptor, as text that the caller frees. */
static char *read_all(int fd)
{
	size_t size = 0, room = 65536;
	char *text = malloc(room);

	if (!text)
		die("memory");
	for (;;) {
		ssize_t n = read(fd, text + size, room - size - 1);
		if (n <= 0)
			break;
		size += (size_t)n;
		if (room - size < 4096) {
			char *larger = realloc(text, room *= 2);
			if (!larger)
				die("memory");
			text = larger;
		}
	}
	text[size] = '\0';
	return text;
}

/* The body of a 200 answer, or NULL. HTTP/1.0: the end of the answer is the end of the stream. */
static char *get(const char *path)
{
	int fd = request(path);

	if (fd < 0)
		return NULL;
	char *text = read_all(fd), *body = strstr(text, "\r\n\r\n");
	close(fd);
	if (body && strstr(text, " 200 ") && strstr(text, " 200 ") < body) {
		memmove(text, body + 4, strlen(body + 4) + 1);
		return text;
	}
	free(text);
	return NULL;
}

/* ---- its life ---------------------------------------------------------------------------- */

static void fail_with_log(const char *what)
{
	int fd = open(LOG, O_RDONLY | O_CLOEXEC);
	char *log = fd < 0 ? strdup("") : read_all(fd);
	size_t length = strlen(log);

	if (fd >= 0)
		close(fd);
	case_fail("%s\n%s", what, log + (length > 4000 ? length - 4000 : 0));
	free(log);
}

void exporter_tell_log(void)
{
	fail_with_log("its log:");
}

static bool wait_ready(struct exporter *exporter)
{
	double until = seconds_now() + READY_SECONDS;
	int status;

	while (seconds_now() < until) {
		if (waitpid(exporter->process.pid, &status, WNOHANG) > 0) {
			exporter->process.pid = 0;
			fail_with_log("the exporter ended at once");
			return false;
		}
		char *body = get("/-/ready");
		if (body) {
			free(body);
			return true;
		}
		doze();
	}
	fail_with_log("the exporter does not become ready");
	return false;
}

static void write_config(const char *text)
{
	int fd = open(CONFIG, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(CONFIG);
	close(fd);
}

bool exporter_start(struct exporter *exporter, const char *config, const char *tier)
{
	char tier_flag[64];
	const char *argv[] = {EXPORTER, "--config.file=" CONFIG,
			      "--web.listen-address=127.0.0.1:10435", tier ? tier_flag : NULL,
			      NULL};

	*exporter = (struct exporter){0};
	snprintf(tier_flag, sizeof(tier_flag), "--kernel.tier=%s", tier ? tier : "");
	write_config(config);
	process_start(&exporter->process, argv, LOG);
	return wait_ready(exporter);
}

bool exporter_scrape(struct exporter *exporter)
{
	free(exporter->metrics);
	exporter->metrics = get("/metrics");
	if (!exporter->metrics)
		fail_with_log("/metrics does not answer");
	return exporter->metrics;
}

/* Whether the text between `line` and `end` contains a label's text (`function="work"`). */
static bool has_label(const char *line, const char *end, const char *label)
{
	const char *at = label ? strstr(line, label) : line;

	return at && at < end;
}

long exporter_value(const struct exporter *exporter, const char *name, const char *label,
		    const char *label2)
{
	size_t length = strlen(name);
	long sum = 0;
	int found = 0;

	for (const char *line = exporter->metrics; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *end = strchr(line, '\n'), *closing = strstr(line, "} ");
		if (strncmp(line, name, length) || line[length] != '{' || !closing || closing > end)
			continue;
		if (!has_label(line, closing, label) || !has_label(line, closing, label2))
			continue;
		sum += strtol(closing + 2, NULL, 10);
		found++;
	}
	return found ? sum : -1;
}

void exporter_stop(struct exporter *exporter, int signal)
{
	if (exporter->process.pid) {
		int status = process_end(&exporter->process, signal);
		if (signal == SIGTERM && status != 0)
			case_fail("SIGTERM did not end the exporter with status 0");
		if (signal == SIGKILL && !WIFSIGNALED(status))
			case_fail("SIGKILL did not end the exporter");
		require_nothing_left();
		if (case_failed())
			exporter_tell_log();
	}
	free(exporter->metrics);
	exporter->metrics = NULL;
}

int exporter_run(const char *const argv[], char *text, size_t size)
{
	struct process process;

	write_config("targets:\n  - name: victim\n    binary: /victims/threads\n"
		     "    functions: [{symbol: work}]\n");
	process_start(&process, argv, LOG);
	int status = process_end(&process, 0);
	int fd = open(LOG, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
