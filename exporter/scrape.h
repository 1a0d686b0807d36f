/* What the HTTP server answers: metrics, health, readiness and the landing page. */
#ifndef EXPORTER_SCRAPE_H
#define EXPORTER_SCRAPE_H

#include "http/server.h"
#include "options.h"
#include "probes.h"
#include "reloader.h"

struct scrape {
	struct probes *probes;
	struct reloader *reloader;
	const struct options *options;
	struct collect_build build;
	struct http_route routes[5];
	size_t n_routes;
};

/* Fill `scrape` and its routes; all but `build` are borrowed. */
void scrape_init(struct scrape *scrape, struct probes *probes, struct reloader *reloader,
		 const struct options *options, const struct collect_build *build);

#endif
