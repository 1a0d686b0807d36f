/*
 * Programs that come and go: once [CALLS] calls `work` and ends. once spawn FILE N [CALLS] runs
 * FILE CALLS, N times one after another, and says how many ended well; once fork N CALLS does the
 * same with children that start no program. once exec FILE CALLS [OTHERS] calls, then becomes FILE
 * OTHERS. once again N becomes itself N times.
 */
#include "victim.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;
static volatile uint64_t sink;

PROBED uint64_t work(uint64_t x)
{
	return x * 2862933555777941757u + 3037000493u;
}

static void calls(long n)
{
	for (long i = 0; i < n; i++)
		sink = work(sink);
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static long spawn_all(char *file, long n, char *n_calls)
{
	char *arguments[] = {file, n_calls, NULL};
	long well = 0;

	for (long i = 0; i < n; i++) {
		pid_t pid;
		if (!posix_spawn(&pid, file, NULL, NULL, arguments, environ))
			well += ended_well(pid);
	}
	return well;
}

static long fork_all(long n, long n_calls)
{
	long well = 0;

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();
		if (!pid) {
			calls(n_calls);
			_exit(0);
		}
		well += ended_well(pid);
	}
	return well;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "spawn") && argc > 3) {
		for (bool more = ready(); more; more = next_round())
			say("{\"well\":%ld}\n", spawn_all(argv[2], argument(argc, argv, 3, 1),
							  argc > 4 ? argv[4] : "1"));
	} else if (!strcmp(mode, "fork")) {
		for (bool more = ready(); more; more = next_round())
			say("{\"well\":%ld}\n",
			    fork_all(argument(argc, argv, 2, 1), argument(argc, argv, 3, 1)));
	} else if (!strcmp(mode, "exec") && argc > 3) {
		char *arguments[] = {argv[2], argc > 4 ? argv[4] : "1", NULL};
		if (!ready())
			return 0;
		calls(argument(argc, argv, 3, 1));
		execv(argv[2], arguments);
		return 1;
	} else if (!strcmp(mode, "again")) {
		char left[24];
		char *arguments[] = {argv[0], argv[1], left, NULL};
		long n = argument(argc, argv, 2, 0);
		if (n <= 0)
			return 0;
		snprintf(left, sizeof(left), "%ld", n - 1);
		execv(argv[0], arguments);
		return 1;
	} else {
		calls(argument(argc, argv, 1, 1));
	}
	return 0;
}
