/*
 * Calls that never return as calls do: leaves MODE [CALLS]. Of each round's CALLS calls of
 * `leave`, half return; the other half
 *     jump    leave by longjmp
 *     deep    leave by longjmp three probed frames up (leave → middle → leave_deepest)
 *     thread  end their thread with pthread_exit
 *     raw     end their thread with the exit system call
 * `after` is called once at the end of each round, in the thread that made the calls, so that the
 * thread's dead frames can be noticed.
 */
#include "victim.h"

#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>

static jmp_buf out;
static volatile long sink;

PROBED void leave(long i, void (*how)(void))
{
	sink += i;
	if (i % 2)
		how();
	sink++;
}

PROBED void after(void)
{
	sink++;
}

static void jump(void)
{
	longjmp(out, 1);
}

PROBED void leave_deepest(void)
{
	sink++;
	longjmp(out, 1);
}

PROBED void middle(void)
{
	sink++;
	leave_deepest();
	sink++;
}

static void end_thread(void)
{
	pthread_exit(NULL);
}

static void end_thread_raw(void)
{
	syscall(SYS_exit, 0);
}

static void call_in_place(long calls, void (*how)(void))
{
	for (volatile long i = 0; i < calls; i++) {
		if (setjmp(out) == 0)
			leave(i, how);
	}
	after();
}

struct call {
	long i;
	void (*how)(void);
};

static void *call_once(void *argument)
{
	struct call *call = argument;

	leave(call->i, call->how);
	return NULL;
}

static void call_in_threads(long calls, void (*how)(void))
{
	for (long i = 0; i < calls; i++) {
		struct call call = {i, how};
		pthread_t thread;

		pthread_create(&thread, NULL, call_once, &call);
		pthread_join(thread, NULL);
	}
	after();
}

static const struct mode {
	const char *name;
	void (*how)(void);
	void (*make_calls)(long calls, void (*how)(void));
} modes[] = {
	{"jump", jump, call_in_place},
	{"deep", middle, call_in_place},
	{"thread", end_thread, call_in_threads},
	{"raw", end_thread_raw, call_in_threads},
};

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 2, 1000);
	const struct mode *mode = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		mode->make_calls(calls, mode->how);
		long deep = mode->how == middle ? calls / 2 : 0;
		say("{\"calls\":{\"leave\":%ld,\"after\":1,\"middle\":%ld,\"leave_deepest\":%ld},"
		    "\"returned\":{\"leave\":%ld,\"after\":1,\"middle\":0,\"leave_deepest\":0}}\n",
		    calls, deep, deep, calls - calls / 2);
	}
	return 0;
}
