/*
 * The main thread's event loop: descriptors with callbacks (epoll), a periodic tick, and the
 * signals that end or prod the daemon.
 */
#ifndef EXPORTER_LOOP_H
#define EXPORTER_LOOP_H

#include <stdatomic.h>
#include <stdint.h>

struct loop;

/* Called when the descriptor is readable, the tick is due, or the signal came. */
typedef void (*loop_callback)(void *context, int value);

struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Watch `fd` (borrowed); the callback's value is the descriptor. 0 or -errno. */
int loop_watch(struct loop *loop, int fd, loop_callback callback, void *context);
void loop_unwatch(struct loop *loop, int fd);

/* Every `period_ms`; the callback's value is how many ticks have passed since the last. */
int loop_every(struct loop *loop, uint64_t period_ms, loop_callback callback, void *context);

/*
 * Receive SIGINT, SIGTERM and SIGHUP; the callback's value is the signal. The first of SIGINT and
 * SIGTERM makes loop_stop_flag true at once, whatever the main thread is doing; from then on
 * SIGINT ends the process (status 130), for who asks twice is in a hurry. SIGPIPE is ignored.
 */
int loop_signals(struct loop *loop, loop_callback callback, void *context);

/* Whether the process has been asked to end; for what takes long. */
const atomic_bool *loop_stop_flag(void);

/* Until loop_stop. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
