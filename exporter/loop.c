/* epoll, a timerfd, and a pipe from the signal handler. */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/vec.h"

enum source_kind { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL };

struct source {
	int fd;
	enum source_kind kind; /* timers and signals own their descriptor */
	loop_callback callback;
	void *context;
};

struct loop {
	int epoll_fd;
	bool stopped;
	VEC(struct source) sources;
};

struct loop *loop_new(void)
{
	struct loop *loop = alloc_zero(1, sizeof(*loop));

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd >= 0)
		return loop;
	free(loop);
	return NULL;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	for (size_t i = 0; i < loop->sources.n; i++)
		if (loop->sources.at[i].kind != SOURCE_FD)
			close(loop->sources.at[i].fd);
	vec_fini(&loop->sources);
	close(loop->epoll_fd);
	free(loop);
}

static int add(struct loop *loop, struct source source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = source.fd};

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source.fd, &event))
		return -errno;
	*vec_push(&loop->sources) = source;
	return 0;
}

int loop_watch(struct loop *loop, int fd, loop_callback callback, void *context)
{
	return add(loop, (struct source){fd, SOURCE_FD, callback, context});
}

void loop_unwatch(struct loop *loop, int fd)
{
	for (size_t i = 0; i < loop->sources.n; i++) {
		if (loop->sources.at[i].fd != fd)
			continue;
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		loop->sources.at[i] = loop->sources.at[--loop->sources.n];
		return;
	}
}

static int add_owned(struct loop *loop, struct source source)
{
	if (source.fd < 0)
		return -errno;
	int result = add(loop, source);
	if (result)
		close(source.fd);
	return result;
}

int loop_every(struct loop *loop, uint64_t period_ms, loop_callback callback, void *context)
{
	struct timespec period = {(time_t)(period_ms / 1000), (long)(period_ms % 1000) * 1000000};
	struct itimerspec spec = {.it_interval = period, .it_value = period};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, 0, &spec, NULL);
	return add_owned(loop, (struct source){fd, SOURCE_TIMER, callback, context});
}

static atomic_bool stop_flag;
static atomic_bool reload_pending;    /* in the pipe: one reload does for all that ask before it */
static int signal_pipe[2] = {-1, -1}; /* the handler writes the signal's number */

static void handle_signal(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;

	/*
	 * Not by the signal's default effect: a fatal signal that is pending while the kernel takes
	 * a probe out makes it leave the breakpoint behind. Here the call that was interrupted has
	 * returned, and the rest is closed as the process exits.
	 */
	if (number == SIGINT && stop_flag)
		_exit(128 + SIGINT);
	if (number != SIGHUP)
		stop_flag = true;
	else if (atomic_exchange(&reload_pending, true))
		return;
	if (write(signal_pipe[1], &byte, 1) < 0)
		errno = saved; /* the pipe is full of signals that tell the same */
	errno = saved;
}

int loop_signals(struct loop *loop, loop_callback callback, void *context)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};

	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	return add_owned(loop, (struct source){signal_pipe[0], SOURCE_SIGNAL, callback, context});
}

const atomic_bool *loop_stop_flag(void)
{
	return &stop_flag;
}

static void dispatch(const struct source *source)
{
	unsigned char number;
	uint64_t ticks;

	switch (source->kind) {
	case SOURCE_FD:
		source->callback(source->context, source->fd);
		break;
	case SOURCE_TIMER:
		if (read(source->fd, &ticks, sizeof(ticks)) == sizeof(ticks))
			source->callback(source->context, (int)ticks);
		break;
	case SOURCE_SIGNAL:
		if (read(source->fd, &number, 1) != 1)
			break;
		if (number == SIGHUP)
			reload_pending = false;
		source->callback(source->context, number);
		break;
	}
}

static const struct source *find(const struct loop *loop, int fd)
{
	for (size_t i = 0; i < loop->sources.n; i++)
		if (loop->sources.at[i].fd == fd)
			return &loop->sources.at[i];
	return NULL;
}

int loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		struct epoll_event event;
		int n = epoll_wait(loop->epoll_fd, &event, 1, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		const struct source *source = n > 0 ? find(loop, event.data.fd) : NULL;
		if (!source)
			continue;
		struct source copy = *source; /* the callback may change the list */
		dispatch(&copy);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
