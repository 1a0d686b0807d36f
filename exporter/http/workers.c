/* The threads that run routes, and their queue. */
#include "http/workers.h"

#include <stddef.h>

static struct job *take_first(struct workers *workers)
{
	struct job *job = workers->first;

	if (!job)
		return NULL;
	workers->first = job->next;
	if (!workers->first)
		workers->last = &workers->first;
	return job;
}

static void *work(void *argument)
{
	struct workers *workers = argument;
	struct job *job;

	pthread_mutex_lock(&workers->lock);
	while (!workers->stopping) {
		job = take_first(workers);
		if (!job) {
			pthread_cond_wait(&workers->wake, &workers->lock);
			continue;
		}
		pthread_mutex_unlock(&workers->lock);
		job->run(job, false);
		pthread_mutex_lock(&workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

int workers_start(struct workers *workers)
{
	*workers = (struct workers){.last = &workers->first};
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->wake, NULL);
	for (; workers->n < WORKERS_MAX; workers->n++) {
		int failure = pthread_create(&workers->threads[workers->n], NULL, work, workers);
		if (!failure)
			continue;
		workers_stop(workers);
		workers_fini(workers);
		return -failure;
	}
	return 0;
}

void workers_submit(struct workers *workers, struct job *job)
{
	bool stopping;

	job->next = NULL;
	pthread_mutex_lock(&workers->lock);
	stopping = workers->stopping;
	if (!stopping) {
		*workers->last = job;
		workers->last = &job->next;
		pthread_cond_signal(&workers->wake);
	}
	pthread_mutex_unlock(&workers->lock);
	if (stopping)
		job->run(job, true);
}

void workers_stop(struct workers *workers)
{
	struct job *job;

	pthread_mutex_lock(&workers->lock);
	workers->stopping = true;
	pthread_cond_broadcast(&workers->wake);
	pthread_mutex_unlock(&workers->lock);
	for (unsigned i = 0; i < workers->n; i++)
		pthread_join(workers->threads[i], NULL);
	/* No thread is left, and submit queues no more. */
	while ((job = take_first(workers)))
		job->run(job, true);
}

void workers_fini(struct workers *workers)
{
	pthread_cond_destroy(&workers->wake);
	pthread_mutex_destroy(&workers->lock);
}
