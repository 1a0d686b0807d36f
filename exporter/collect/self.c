/*
 * The process_* metrics, named and measured as the Prometheus client libraries do. Sources:
 * proc(5): /proc/self/stat, /proc/self/fd, /proc/stat; getrlimit(2).
 */
#include "collect/self.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Fields of /proc/PID/stat by their number in proc(5); the first two are before the ")". */
enum stat_field {
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_VSIZE = 23,
	STAT_RSS = 24,
	STAT_FIELDS,
};

static int read_stat(uint64_t field[STAT_FIELDS])
{
	char text[2048];
	FILE *file = fopen("/proc/self/stat", "re");

	if (!file)
		return -1;
	size_t length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	char *at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at)
		return -1;
	int number = 2;
	for (char *word = strtok_r(at + 1, " ", &at); word; word = strtok_r(NULL, " ", &at))
		if (++number < STAT_FIELDS)
			field[number] = strtoull(word, NULL, 10);
	return number >= STAT_RSS ? 0 : -1;
}

/* Seconds since the epoch; 0 when unknown. Read once: it moves when the wall clock is set. */
static double boot_time;

static void read_boot_time(void)
{
	char line[256];
	unsigned long long seconds;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return;
	while (boot_time == 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "btime %llu", &seconds) == 1)
			boot_time = (double)seconds;
	fclose(file);
}

static void add_u64(struct builder *builder, const struct family *kind, uint64_t value)
{
	builder_add_single(builder, kind, (struct value){.kind = VALUE_U64, .u64 = value});
}

static void add_double(struct builder *builder, const struct family *kind, double value)
{
	builder_add_single(builder, kind, (struct value){.kind = VALUE_DOUBLE, .f64 = value});
}

static void add_times(struct builder *builder, const uint64_t field[STAT_FIELDS])
{
	static const struct family cpu = {
		.name = "process_cpu_seconds_total",
		.help = "Total user and system CPU time spent in seconds.",
		.unit = "seconds",
		.type = FAMILY_COUNTER,
	};
	static const struct family start = {
		.name = "process_start_time_seconds",
		.help = "Start time of the process since unix epoch in seconds.",
		.unit = "seconds",
		.type = FAMILY_GAUGE,
	};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	double ticks = (double)sysconf(_SC_CLK_TCK);

	pthread_once(&once, read_boot_time);
	add_double(builder, &cpu, (double)(field[STAT_UTIME] + field[STAT_STIME]) / ticks);
	if (boot_time > 0)
		add_double(builder, &start, boot_time + (double)field[STAT_START] / ticks);
}

static void add_memory(struct builder *builder, const uint64_t field[STAT_FIELDS])
{
	static const struct family virtual = {
		.name = "process_virtual_memory_bytes",
		.help = "Virtual memory size in bytes.",
		.unit = "bytes",
		.type = FAMILY_GAUGE,
	};
	static const struct family resident = {
		.name = "process_resident_memory_bytes",
		.help = "Resident memory size in bytes.",
		.unit = "bytes",
		.type = FAMILY_GAUGE,
	};

	add_u64(builder, &virtual, field[STAT_VSIZE]);
	add_u64(builder, &resident, field[STAT_RSS] * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void add_threads(struct builder *builder, const uint64_t field[STAT_FIELDS])
{
	static const struct family threads = {
		.name = "process_threads",
		.help = "Number of OS threads in the process.",
		.type = FAMILY_GAUGE,
	};

	add_u64(builder, &threads, field[STAT_THREADS]);
}

static void add_open_fds(struct builder *builder)
{
	static const struct family open_fds = {
		.name = "process_open_fds",
		.help = "Number of open file descriptors.",
		.type = FAMILY_GAUGE,
	};
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (!dir)
		return;
	for (const struct dirent *entry; (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	add_u64(builder, &open_fds, n - 1); /* without the one that counts */
}

/* "Unlimited" is shown as 2^64 - 1, as the client libraries do. */
static void add_limits(struct builder *builder)
{
	static const struct {
		int resource;
		struct family kind;
	} limits[] = {
		{RLIMIT_NOFILE,
		 {.name = "process_max_fds",
		  .help = "Maximum number of open file descriptors.",
		  .type = FAMILY_GAUGE}},
		{RLIMIT_AS,
		 {.name = "process_virtual_memory_max_bytes",
		  .help = "Maximum amount of virtual memory available in bytes.",
		  .unit = "bytes",
		  .type = FAMILY_GAUGE}},
	};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (getrlimit(limits[i].resource, &limit) == 0)
			add_u64(builder, &limits[i].kind, limit.rlim_cur);
}

void self_add(struct builder *builder)
{
	uint64_t field[STAT_FIELDS] = {0};

	if (read_stat(field) == 0) {
		add_times(builder, field);
		add_memory(builder, field);
		add_threads(builder, field);
	}
	add_open_fds(builder);
	add_limits(builder);
}
