/*
 * A few threads that run routes, so that neither the clients' sockets nor another route waits for
 * a slow one. Jobs are embedded in what they work on; the queue is bounded by the connection
 * limit, since a connection has one request at a time.
 */
#ifndef HTTP_WORKERS_H
#define HTTP_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#define WORKERS_MAX 8

struct job {
	struct job *next;
	/* `dropped`: the pool stops before the job's turn came; only let go of it. The job may be
	 * freed by the time this returns. */
	void (*run)(struct job *job, bool dropped);
};

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job *first, **last;
	bool stopping;
	pthread_t threads[WORKERS_MAX];
	unsigned n;
};

/* Start WORKERS_MAX threads: 0, or -errno and nothing is left running. */
int workers_start(struct workers *workers);
/* From any thread, until workers_stop returns; a job given while stopping is dropped. */
void workers_submit(struct workers *workers, struct job *job);
/* Wait for the jobs that run, drop the others. */
void workers_stop(struct workers *workers);
void workers_fini(struct workers *workers);

#endif
