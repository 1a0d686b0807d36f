/*
 * New processes and new images inside a probed call: procs MODE [CALLS]. Each call of `spawn`
 *     fork   forks; the child returns from the call as well and calls `child_work` once
 *     vfork  makes a child by vfork that ends at once
 *     vfork-exec  makes one that becomes `procs none`, which ends at once
 *     exec   replaces the process image by `procs again`: that call never returns, and the new
 *            image makes one round of CALLS returning calls of `spawn`
 *     exec-thread  the same from a thread that is not the main one
 */
#include "victim.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

static long calls;
static char *self;
static char calls_text[24];

static volatile long sink;

PROBED void child_work(void)
{
	sink++;
}

static pid_t do_fork(void)
{
	return fork();
}

static pid_t do_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static pid_t do_vfork_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "none", (char *)NULL);
		_exit(3);
	}
	return pid;
}

static pid_t do_exec(void)
{
	execl(self, self, "again", calls_text, (char *)NULL);
	_exit(3);
}

static pid_t do_nothing(void)
{
	return 0;
}

PROBED pid_t spawn(pid_t (*how)(void))
{
	pid_t pid = how();

	sink++; /* work after the call: it is not a jump */
	return pid;
}

static void round_of_forks(pid_t (*how)(void))
{
	pid_t parent = getpid();

	for (long i = 0; i < calls; i++) {
		pid_t pid = spawn(how);

		if (getpid() != parent) {
			child_work();
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static void *exec_thread(void *unused)
{
	spawn(do_exec);
	return unused;
}

static void round_of_exec_thread(pid_t (*how)(void))
{
	pthread_t thread;

	(void)how;
	pthread_create(&thread, NULL, exec_thread, NULL);
	pthread_join(thread, NULL);
}

static void round_of_exec(pid_t (*how)(void))
{
	spawn(how);
}

static const struct mode {
	const char *name;
	pid_t (*how)(void);
	void (*make_calls)(pid_t (*how)(void));
} modes[] = {
	{"fork", do_fork, round_of_forks},     {"vfork", do_vfork, round_of_forks},
	{"exec", do_exec, round_of_exec},      {"exec-thread", do_exec, round_of_exec_thread},
	{"again", do_nothing, round_of_forks}, {"vfork-exec", do_vfork_exec, round_of_forks},
};

int main(int argc, char **argv)
{
	const struct mode *mode = NULL;

	if (argc > 1 && strcmp(argv[1], "none") == 0)
		return 0;
	self = argv[0];
	calls = argument(argc, argv, 2, 10);
	snprintf(calls_text, sizeof(calls_text), "%ld", calls);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		mode->make_calls(mode->how);
		long children = mode->how == do_fork ? calls : 0;
		say("{\"calls\":{\"spawn\":%ld,\"child_work\":%ld},"
		    "\"returned\":{\"spawn\":%ld,\"child_work\":%ld}}\n",
		    calls, children, calls, children);
	}
	return 0;
}
