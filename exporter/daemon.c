/* The order of the daemon's life: signals, programs, plan, sockets, probes; then the loop. */
#include "daemon.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "http/listen.h"
#include "http/server.h"
#include "loop.h"
#include "notify.h"
#include "probes.h"
#include "reloader.h"
#include "scrape.h"

/*
 * How often the files are looked at, and what is not attached is tried again if that may help. A
 * file that is replaced is to be probed within a second.
 */
enum { RETRY_PERIOD_MS = 250 };

struct daemon {
	const struct options *options;
	const struct spec *spec;
	struct file_stamp stamp; /* of the config file */
	struct loop *loop;
	struct attach *attach;
	struct probes *probes;
	struct reloader *reloader;
	struct http_server *server;
	struct scrape scrape;
	struct probe_floor floors[PROBE_FLOORS_MOST];
	size_t n_floors;
};

static void on_signal(void *context, int number)
{
	struct daemon *daemon = context;

	if (number == SIGHUP) {
		reloader_run(daemon->reloader);
		return;
	}
	notify_stopping();
	log_info("stopping", LOG_STR("signal", number == SIGINT ? "SIGINT" : "SIGTERM"));
	loop_stop(daemon->loop);
}

static void tell_manager(const struct daemon *daemon)
{
	size_t attached, all;

	probes_count(daemon->probes, &attached, &all);
	notify_status("%zu of %zu probes attached", attached, all);
	notify_alive();
}

static void on_tick(void *context, int ticks)
{
	struct daemon *daemon = context;

	(void)ticks;
	probes_retry(daemon->probes);
	reloader_look(daemon->reloader);
	tell_manager(daemon);
}

static int start_loop(struct daemon *daemon)
{
	daemon->loop = loop_new();
	if (!daemon->loop || loop_signals(daemon->loop, on_signal, daemon) ||
	    loop_every(daemon->loop, RETRY_PERIOD_MS, on_tick, daemon)) {
		log_error("cannot set up the event loop", LOG_STR("error", strerror(errno)));
		return -1;
	}
	return 0;
}

static int start_attacher(struct daemon *daemon)
{
	struct attach_options options = {
		.tier = daemon->options->tier,
		.perf_force = daemon->options->perf_force,
		.limits = daemon->spec->limits,
		.stop = loop_stop_flag(),
	};
	uint64_t at_most;
	struct err err;

	if (attach_open(&options, &daemon->attach, &err)) {
		log_error("cannot attach probes", LOG_STR("reason", reason_name(err.reason)),
			  LOG_STR("error", err.msg));
		return -1;
	}
	uint64_t now = attach_memory_bytes(daemon->attach, &at_most);
	log_info("kernel programs loaded", LOG_STR("tier", tier_name(attach_tier(daemon->attach))),
		 LOG_INT("map_memory_bytes", now), LOG_INT("map_memory_at_most_bytes", at_most));
	daemon->n_floors = attach_measure_floors(daemon->attach, daemon->floors);
	return 0;
}

/*
 * The sockets of other services open to root: a container runtime's, say, below a mounted root. Who
 * is nobody may ask as he likes.
 */
static bool needs_local_sockets(const struct spec *spec)
{
	bool needs = geteuid() != 0 || getenv("NOTIFY_SOCKET");

	for (size_t i = 0; i < spec->n_targets; i++)
		needs |= spec->targets[i].process.user != NULL;
	return needs;
}

/* Ports may be below 1024, and threads have the capabilities of the one that started them. */
static void give_up_privileges(void *context)
{
	struct daemon *daemon = context;
	struct confinement done = confine(daemon->options->confine, attach_tier(daemon->attach),
					  needs_local_sockets(daemon->spec));

	daemon->scrape.build.capabilities = done.capabilities ? "dropped" : "kept";
	daemon->scrape.build.syscalls = done.syscalls ? "filtered" : "any";
}

static int start_server(struct daemon *daemon)
{
	struct http_options options = {
		.listen = daemon->options->listen,
		.n_listen = daemon->options->n_listen,
		.inherit = daemon->options->systemd_socket,
		.routes = daemon->scrape.routes,
		.n_routes = daemon->scrape.n_routes,
		.before_threads = give_up_privileges,
		.before_threads_context = daemon,
	};
	struct err err;

	int result = http_start(&options, &daemon->server, &err);
	if (result) {
		log_error("cannot serve", LOG_STR("error", err.msg));
		return result;
	}
	for (size_t i = 0; http_address(daemon->server, i); i++)
		log_info("listening", LOG_STR("address", http_address(daemon->server, i)),
			 LOG_STR("path", daemon->options->telemetry_path));
	return 0;
}

/* Whether every address could be one, before anything is set up for it. */
static int check_addresses(const struct options *options)
{
	struct listen_spec spec;
	struct err err;

	for (size_t i = 0; i < options->n_listen; i++) {
		int result = listen_parse(options->listen[i], &spec, &err);
		if (result) {
			log_error("cannot serve", LOG_STR("error", err.msg));
			return result;
		}
	}
	return 0;
}

static int start(struct daemon *daemon)
{
	int result = check_addresses(daemon->options);

	if (result)
		return result;
	if (start_loop(daemon) || start_attacher(daemon))
		return -1;
	daemon->probes = probes_new(daemon->spec, daemon->attach, daemon->loop);
	struct collect_build build = {
		.version = version_number,
		.revision = version_revision,
		.tier = tier_name(attach_tier(daemon->attach)),
		.floors = daemon->floors,
		.n_floors = daemon->n_floors,
	};
	daemon->reloader =
		reloader_new(daemon->options, daemon->probes, daemon->loop, &daemon->stamp);
	scrape_init(&daemon->scrape, daemon->probes, daemon->reloader, daemon->options, &build);
	result = start_server(daemon);
	if (result)
		return result;
	probes_attach(daemon->probes);
	if (!*loop_stop_flag()) {
		log_info("ready");
		tell_manager(daemon);
		notify_ready();
	}
	return 0;
}

static void stop(struct daemon *daemon)
{
	reloader_stop(daemon->reloader); /* who waits for it is an HTTP thread */
	http_stop(daemon->server);
	reloader_free(daemon->reloader);
	attach_close(daemon->attach);
	probes_free(daemon->probes);
	loop_free(daemon->loop);
}

/*
 * glibc gives each thread a heap of its own and keeps what is freed there. A scrape of a thousand
 * functions takes 7 MiB: eight HTTP threads would hold that eight times.
 */
static void share_one_heap(void)
{
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
}

int daemon_serve(const struct options *options, const struct spec *spec,
		 const struct file_stamp *stamp)
{
	struct daemon daemon = {.options = options, .spec = spec, .stamp = *stamp};
	int result;

	share_one_heap();
	log_info("starting uprobe_exporter", LOG_STR("version", version_number),
		 LOG_STR("revision", version_revision), LOG_STR("config", spec->file));
	result = start(&daemon);
	if (!result)
		result = loop_run(daemon.loop);
	stop(&daemon);
	if (!result)
		log_info("stopped");
	/* An address that cannot be one is a mistake on the command line. */
	return result == -EINVAL ? EXIT_USAGE : result ? EXIT_CANNOT : EXIT_OK;
}
