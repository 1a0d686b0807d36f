/*
 * Programs that come and go: once [CALLS] calls `work` and ends. once spawn FILE N [CALLS] runs
 * FILE CALLS, N times one after another, and says how many ended well; once fork N CALLS does the
 * same with children that start no program. once exec FILE CALLS [OTHERS] calls, then becomes FILE
 * OTHERS. once again N becomes itself N times. once early N CALLS DEPTH [FILE] forks N children as
 * soon as it starts, which call and end when they are told to (DEPTH 2: children of children that
 * end at once), or become FILE, which does that as once linger CALLS.
 */
#include "victim.h"

#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
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

	return waitpid(pid, &status, 0) > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
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

/* Call when there is nobody left who could write. */
static void linger(int fd, long n)
{
	char c;

	while (read(fd, &c, 1) == 1)
		continue;
	calls(n);
}

static void be_early(const int *go, char *n_calls, long depth, char *file)
{
	if (depth > 1 && fork())
		_exit(0);
	close(go[1]);
	if (file) {
		dup2(go[0], STDIN_FILENO);
		execl(file, file, "linger", n_calls, (char *)NULL);
	}
	linger(go[0], strtol(n_calls, NULL, 10));
	_exit(0);
}

static long early(long n, char *n_calls, long depth, char *file)
{
	long well = 0;
	int go[2];

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) || pipe(go))
		return -1;
	for (long i = 0; i < n; i++)
		if (!fork())
			be_early(go, n_calls, depth, file);
	if (!ready())
		return -1;
	close(go[1]);
	for (long i = 0; i < n * depth; i++)
		well += ended_well(-1);
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
	} else if (!strcmp(mode, "early") && argc > 4) {
		say("{\"well\":%ld}\n",
		    early(argument(argc, argv, 2, 1), argv[3], argument(argc, argv, 4, 1),
			  argc > 5 ? argv[5] : NULL));
	} else if (!strcmp(mode, "linger")) {
		linger(STDIN_FILENO, argument(argc, argv, 2, 1));
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
