/* The text of /proc/PID/stat, as proc(5) has it. */
#include "target/procview.h"

#include <stdlib.h>
#include <string.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Number of field `wanted`, where `at` is on field `field`. */
static uint64_t field_after(const char *at, int field, int wanted)
{
	for (; at && field < wanted; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

/* "pid (comm) state ppid …": the name may hold anything, `) R 1` too, but the rest no `)`. */
bool procview_parse_stat(const char *text, size_t length, struct procview_stat *stat)
{
	char copy[1024];
	const char *open, *close;

	if (length >= sizeof(copy))
		length = sizeof(copy) - 1;
	memcpy(copy, text, length);
	copy[length] = '\0';
	open = strchr(copy, '(');
	close = strrchr(copy, ')');
	if (!open || !close || close < open || close[1] != ' ' || !close[2] || close[3] != ' ')
		return false;
	size_t n = (size_t)(close - open) - 1;
	if (n >= sizeof(stat->comm))
		n = sizeof(stat->comm) - 1;
	memcpy(stat->comm, open + 1, n);
	stat->comm[n] = '\0';
	char state = close[2];
	const char *rest = close + 4;
	stat->ppid = (pid_t)field_after(rest, 4, 4);
	stat->kernel_thread = field_after(rest, 4, 9) & PF_KTHREAD;
	stat->ended = state == 'X' || (state == 'Z' && field_after(rest, 4, 20) <= 1);
	stat->start_ticks = field_after(rest, 4, 22);
	return true;
}
