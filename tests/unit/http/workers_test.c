/* The queue and its threads: every job runs or is dropped, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>

#include "http/workers.h"

#define JOBS 1000

static atomic_int done, dropped_jobs;

static void count(struct job *job, bool dropped)
{
	(void)job;
	atomic_fetch_add(dropped ? &dropped_jobs : &done, 1);
}

static void count_slowly(struct job *job, bool dropped)
{
	if (!dropped)
		poll(NULL, 0, 20);
	count(job, dropped);
}

static int reset(void **state)
{
	(void)state;
	atomic_store(&done, 0);
	atomic_store(&dropped_jobs, 0);
	return 0;
}

static void every_job_runs(void **state)
{
	static struct job jobs[JOBS];
	struct workers workers;

	(void)state;
	assert_int_equal(workers_start(&workers), 0);
	for (int i = 0; i < JOBS; i++) {
		jobs[i].run = count;
		workers_submit(&workers, &jobs[i]);
	}
	for (int i = 0; i < 20000 && atomic_load(&done) < JOBS; i++)
		poll(NULL, 0, 1);
	workers_stop(&workers);
	workers_fini(&workers);
	assert_int_equal(done, JOBS);
	assert_int_equal(dropped_jobs, 0);
}

static void stop_drops_the_queue(void **state)
{
	static struct job jobs[JOBS];
	struct workers workers;

	(void)state;
	assert_int_equal(workers_start(&workers), 0);
	for (int i = 0; i < JOBS - 1; i++) {
		jobs[i].run = count_slowly;
		workers_submit(&workers, &jobs[i]);
	}
	workers_stop(&workers);
	assert_true(dropped_jobs > 0);
	assert_int_equal(done + dropped_jobs, JOBS - 1);
	int before = done;
	jobs[JOBS - 1].run = count;
	workers_submit(&workers, &jobs[JOBS - 1]); /* too late: dropped at once */
	assert_int_equal(done, before);
	assert_int_equal(done + dropped_jobs, JOBS);
	workers_fini(&workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_job_runs, reset),
		cmocka_unit_test_setup(stop_drops_the_queue, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
