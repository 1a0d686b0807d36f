/* The self-test that decides whether a tier works here. */
#include "kernel/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "kernel/linkset.h"
#include "kernel/privs.h"
#include "kernel/refuse.h"
#include "kernel/sandbox.h"
#include "kernel/self.h"

/* What is probed. The empty asm keeps the calls from being merged or dropped. */
__attribute__((noinline, used)) static void target(void)
{
	__asm__ volatile("" ::: "memory");
}

/* An indirect call cannot be inlined or cloned: it goes to the address that is probed. */
static void (*volatile call_target)(void) = target;

enum { CALLS = 3 };

static void *call_in_thread(void *unused)
{
	call_target();
	return unused;
}

/* Call from this thread and from another one; what was counted. */
static int call_and_read(const struct maps *maps, int series, struct reading *reading)
{
	pthread_t thread;

	for (int i = 0; i < CALLS; i++)
		call_target();
	int error = pthread_create(&thread, NULL, call_in_thread, NULL);
	if (error)
		return -error;
	pthread_join(thread, NULL);
	maps_read(maps, series, reading);
	return 0;
}

static uint64_t observed(const struct reading *reading)
{
	uint64_t sum = 0;

	for (int i = 0; i <= UP_MAX_EDGES; i++)
		sum += reading->cells[i];
	return sum;
}

static int judge(const struct reading *reading, struct feature *feature, struct err *err)
{
	uint64_t seen = observed(reading);

	feature->pid_filter = seen == CALLS + 1;
	if (seen == reading->entries && (seen == CALLS || seen == CALLS + 1))
		return 0;
	return err_set(err, -EPROTO, REASON_KERNEL_UNSUPPORTED,
		       "of %d calls to a function of its own the exporter saw %" PRIu64
		       " enter and %" PRIu64 " leave",
		       CALLS + 1, reading->entries, seen);
}

static int fail(const struct object *object, int error, struct err *err)
{
	struct strbuf why = {0};

	privs_explain(object->form->tier, error, &why);
	err_set(err, error, refuse_load_reason(error),
		"the kernel does not attach the programs: %s", strbuf_text(&why));
	strbuf_fini(&why);
	return error;
}

/* Calls from this process and its threads must be counted exactly. */
static int try_self(const struct object *object, struct maps *maps, int series,
		    struct link_sites *sites, struct feature *feature, struct err *err)
{
	struct linkset links;
	struct reading reading;

	sites->pid = getpid();
	int result = linkset_open(&links, object, sites, LINK_CALL);
	if (result)
		return fail(object, result, err);
	if (self_is_translated()) {
		linkset_close(&links);
		log_warn("under valgrind the exporter cannot try its probes on itself");
		return 0;
	}
	result = call_and_read(maps, series, &reading);
	linkset_close(&links);
	return result ? result : judge(&reading, feature, err);
}

static bool try_sandbox(const struct object *object, struct link_sites *sites)
{
	struct sandbox sandbox = sandbox_new(call_target);
	struct linkset links = {0};

	sites->pid = sandbox.pid;
	bool probed = sandbox.pid && !linkset_open(&links, object, sites, LINK_CALL);
	bool survives = sandbox_survives(&sandbox);
	linkset_close(&links);
	return probed && survives; /* what could not be tried is not taken for safe */
}

static int try_probe(const struct object *object, struct maps *maps, int series, int id,
		     struct feature *feature, struct err *err)
{
	uint64_t offset, cookie = (uint64_t)id;
	struct link_sites sites = {
		.path = self_path(), .offsets = &offset, .cookies = &cookie, .n = 1};

	int result = self_offset((uintptr_t)call_target, &offset);
	if (result)
		return err_set(err, result, REASON_INTERNAL,
			       "/proc/self/maps: %s (is /proc mounted?)", strerror(-result));
	maps_enable(maps, id, 0);
	result = try_self(object, maps, series, &sites, feature, err);
	if (!result && !self_is_translated())
		feature->sandbox_safe = try_sandbox(object, &sites);
	maps_disable(maps, id);
	return result;
}

int feature_try(const struct object *object, struct maps *maps, struct feature *feature,
		struct err *err)
{
	int series = maps_add_series(maps, (struct buckets){0}, err);

	if (series < 0)
		return series;
	int id = maps_take_ids(maps, series, 1);
	int result = id < 0 ? err_set(err, id, REASON_INTERNAL, "no room for a probe")
			    : maps_publish(maps, err);
	if (!result)
		result = try_probe(object, maps, series, id, feature, err);
	if (id >= 0)
		maps_give_ids(maps, id, 1);
	maps_free_series(maps, series);
	return result;
}
