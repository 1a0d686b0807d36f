/*
 * Signal handlers that call the function they interrupt: signals MODE [CALLS]. Every second call
 * of `work` raises a signal inside, whose handler calls `work` again
 *     alternate  on a stack of its own (sigaltstack)
 *     same       on the thread's stack
 *     leap       on a stack of its own, and leaves both calls by siglongjmp
 *     timer      on a stack of its own, not raised but sent by a timer, at any instruction
 */
#include "victim.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile long sink;
static long made, returned, handled;
static volatile bool leaps;

/* A signal may come in the middle of it. */
static void count(long *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

PROBED long work(long i, bool raises)
{
	sink += i;
	if (raises)
		raise(SIGUSR1);
	sink -= i;
	return i * 3;
}

static void call(long i, bool raises)
{
	count(&made);
	work(i, raises);
	count(&returned);
}

static void handler(int signal)
{
	(void)signal;
	count(&handled);
	call(7, false);
	if (leaps)
		siglongjmp(out, 1);
}

static void set_timer(long microseconds)
{
	struct itimerval t = {.it_interval.tv_usec = microseconds,
			      .it_value.tv_usec = microseconds};

	setitimer(ITIMER_REAL, &t, NULL);
}

static const struct mode {
	const char *name;
	int flags;
	bool leaps, raises;
	long timer_us;
} modes[] = {
	{"alternate", SA_ONSTACK, false, true, 0},
	{"same", 0, false, true, 0},
	{"leap", SA_ONSTACK, true, true, 0},
	{"timer", SA_ONSTACK, false, false, 100},
};

static void one_round(const struct mode *mode, long calls)
{
	for (volatile long i = 0; i < calls; i++) {
		if (sigsetjmp(out, 1) == 0)
			call(i, mode->raises && i % 2);
	}
}

int main(int argc, char **argv)
{
	static char stack[64 * 1024];
	long calls = argument(argc, argv, 2, 10000);
	const struct mode *mode = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return 2;
	struct sigaction action = {.sa_handler = handler, .sa_flags = mode->flags};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	leaps = mode->leaps;
	for (bool more = ready(); more; more = next_round()) {
		made = returned = handled = 0;
		set_timer(mode->timer_us);
		one_round(mode, calls);
		set_timer(0);
		say("{\"calls\":{\"work\":%ld},\"returned\":{\"work\":%ld},\"result\":%ld}\n", made,
		    returned, made - handled);
	}
	return 0;
}
