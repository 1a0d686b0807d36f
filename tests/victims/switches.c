/*
 * Coroutines inside probed calls: switches MODE [CALLS]. Coroutines take turns, and each gives
 * way inside the probed `step`, which calls the probed `substep`, which gives way again. So calls
 * are open on many stacks at once, end in another order than they began in, and are resumed
 *     one      by one thread
 *     two      by the other of two threads each time
 *     orphans  by a new thread each time: the one that entered a call has ended when it returns
 * The variant switches.private switches by an assembler function of its own that no name gives
 * away, the others by swapcontext.
 */
#include "victim.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { COROUTINES = 16, STACK_BYTES = 64 * 1024 };

static void body(void);

#ifdef PRIVATE
struct place {
	void *sp;
};

/* Save the registers that are the callee's and sp, take another sp and what is saved there. */
void hop(struct place *from, struct place *to);
__asm__(".text\n.globl hop\n.type hop, @function\nhop:\n"
#if defined(__x86_64__)
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	"
	"pushq %r15\n"
	"	movq %rsp, (%rdi)\n	movq (%rsi), %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %rbx\n	"
	"popq %rbp\n"
#else
	"	stp x19, x20, [sp, -96]!\n	stp x21, x22, [sp, 16]\n	stp x23, x24, [sp, "
	"32]\n"
	"	stp x25, x26, [sp, 48]\n	stp x27, x28, [sp, 64]\n	stp x29, x30, [sp, "
	"80]\n"
	"	mov x9, sp\n	str x9, [x0]\n	ldr x9, [x1]\n	mov sp, x9\n"
	"	ldp x21, x22, [sp, 16]\n	ldp x23, x24, [sp, 32]\n	ldp x25, x26, [sp, "
	"48]\n"
	"	ldp x27, x28, [sp, 64]\n	ldp x29, x30, [sp, 80]\n	ldp x19, x20, "
	"[sp], 96\n"
#endif
	"	ret\n.size hop, . - hop\n");

static void place_init(struct place *place, char *stack)
{
	void **top = (void **)(stack + STACK_BYTES);

#if defined(__x86_64__)
	top[-2] = (void *)body; /* at its entry sp + 8 is aligned to 16 */
	place->sp = top - 8;
#else
	top[-1] = (void *)body;
	place->sp = top - 12;
#endif
}
#else
#include <ucontext.h>

struct place {
	ucontext_t context;
};

static void hop(struct place *from, struct place *to)
{
	swapcontext(&from->context, &to->context);
}

static void place_init(struct place *place, char *stack)
{
	getcontext(&place->context);
	place->context.uc_stack.ss_sp = stack;
	place->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&place->context, body, 0);
}
#endif

static struct coroutine {
	struct place place;
	long calls, sum;
	bool done;
	char stack[STACK_BYTES] __attribute__((aligned(16)));
} coroutines[COROUTINES];
static struct coroutine *running; /* turns are strict: one thread runs at a time */
static struct place scheduler;
static bool finished;

static void give_way(void)
{
	hop(&running->place, &scheduler);
}

PROBED long substep(long x)
{
	give_way();
	return x * 3;
}

PROBED long step(long x)
{
	give_way();
	long result = substep(x + 1);
	give_way();
	return result + 1;
}

static void body(void)
{
	struct coroutine *self = running;

	for (long i = 0; i < self->calls; i++) {
		/* two places to return to: calls that are mixed up show in the sum */
		if ((i + (self - coroutines)) % 2)
			self->sum = (self->sum * 31 + step(i)) % 1000003;
		else
			self->sum = (self->sum * 17 + step(i + 5)) % 1000003;
	}
	self->done = true;
	for (;;)
		give_way();
}

/* Resume every coroutine once. */
static void turn(void)
{
	finished = true;
	for (int i = 0; i < COROUTINES; i++) {
		running = &coroutines[i];
		if (running->done)
			continue;
		hop(&scheduler, &running->place);
		finished = finished && running->done;
	}
}

static void one_thread(void)
{
	while (!finished)
		turn();
}

static sem_t mine[2];

static void *take_turns(void *argument)
{
	long me = (long)argument;

	for (bool more = true; more; sem_post(&mine[1 - me])) {
		sem_wait(&mine[me]);
		if (!finished)
			turn();
		more = !finished;
	}
	return NULL;
}

static void two_threads(void)
{
	pthread_t threads[2];

	sem_init(&mine[0], 0, 1);
	sem_init(&mine[1], 0, 0);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *take_turn(void *unused)
{
	turn();
	return unused;
}

static void thread_a_turn(void)
{
	pthread_t thread;

	while (!finished) {
		pthread_create(&thread, NULL, take_turn, NULL);
		pthread_join(thread, NULL);
	}
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {{"one", one_thread}, {"two", two_threads}, {"orphans", thread_a_turn}};

int main(int argc, char **argv)
{
	long calls = argument(argc, argv, 2, 10000) / COROUTINES, n = calls * COROUTINES;
	const struct mode *mode = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return 2;
	for (bool more = ready(); more; more = next_round()) {
		long sum = 0;

		for (int i = 0; i < COROUTINES; i++) {
			coroutines[i].calls = calls;
			coroutines[i].done = false;
			place_init(&coroutines[i].place, coroutines[i].stack);
		}
		finished = false;
		mode->run();
		for (int i = 0; i < COROUTINES; i++)
			sum = (sum * 31 + coroutines[i].sum) % 1000003;
		say("{\"calls\":{\"step\":%ld,\"substep\":%ld},"
		    "\"returned\":{\"step\":%ld,\"substep\":%ld},\"result\":%ld}\n",
		    n, n, n, n, sum);
	}
	return 0;
}
