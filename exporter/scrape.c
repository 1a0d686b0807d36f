/* The routes. */
#include "scrape.h"

#include "notify.h"
#include "render/render.h"

static void metrics(void *context, const struct http_request *request,
		    struct http_response *response)
{
	const struct scrape *scrape = context;
	const struct renderer *renderer = render_negotiate(request->header(request, "Accept"));
	struct snapshot *snapshot = probes_snapshot(scrape->probes, &scrape->build);

	response->content_type = renderer->content_type;
	renderer->render(snapshot, &response->body);
	snapshot_free(snapshot);
}

static void healthy(void *context, const struct http_request *request,
		    struct http_response *response)
{
	bool hangs = notify_is_overdue();

	(void)context;
	(void)request;
	response->status = hangs ? 503 : 200;
	strbuf_puts(&response->body, hangs ? "The main loop of uprobe_exporter hangs.\n"
					   : "uprobe_exporter is Healthy.\n");
}

/* Ready once the first attach pass is done, whatever became of single probes. */
static void ready(void *context, const struct http_request *request, struct http_response *response)
{
	const struct scrape *scrape = context;
	bool is_ready = probes_ready(scrape->probes);

	(void)request;
	response->status = is_ready ? 200 : 503;
	strbuf_puts(&response->body,
		    is_ready ? "uprobe_exporter is Ready.\n" : "uprobe_exporter is attaching.\n");
}

/* What is wrong with a config quotes it, and who may send a request may not be who may read it. */
static const char *const reload_answers[] = {
	[RELOADED] = "Reloaded.\n",
	[RELOAD_CONFIG_WRONG] = "Not reloaded: the config is wrong, see the log.\n",
	[RELOAD_NOT_ASKED] = "Not reloaded: the request could not be passed on.\n",
	[RELOAD_BUSY] = "Not reloaded: enough others wait for a reload that takes its time.\n",
	[RELOAD_STOPPING] = "Not reloaded: the exporter is stopping.\n",
};

/* As Prometheus has it: off unless it was asked for, since anybody can send a POST. */
static void reload(void *context, const struct http_request *request,
		   struct http_response *response)
{
	const struct scrape *scrape = context;

	(void)request;
	if (!scrape->options->enable_lifecycle) {
		response->status = 403;
		strbuf_puts(&response->body, "Reloading over HTTP is off: it needs the flag "
					     "--web.enable-lifecycle.\n");
	} else {
		enum reload_answer answer = reloader_request(scrape->reloader);
		response->status = answer == RELOADED ? 200 : answer == RELOAD_BUSY ? 503 : 500;
		strbuf_puts(&response->body, reload_answers[answer]);
	}
}

static void landing(void *context, const struct http_request *request,
		    struct http_response *response)
{
	const struct scrape *scrape = context;

	(void)request;
	response->content_type = "text/html; charset=utf-8";
	strbuf_printf(
		&response->body,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<title>uprobe_exporter</title></head>\n<body><h1>uprobe_exporter</h1>\n"
		"<p>Latency histograms of functions in running programs.</p>\n"
		"<p>Version %s (revision %s), kernel tier %s</p>\n<ul>\n"
		"<li><a href=\"%s\">Metrics</a></li>\n"
		"<li><a href=\"/-/healthy\">Healthy</a>, <a href=\"/-/ready\">Ready</a></li>\n"
		"</ul></body></html>\n",
		scrape->build.version, scrape->build.revision, scrape->build.tier,
		scrape->options->telemetry_path);
}

static void add(struct scrape *scrape, const char *path, const char *methods,
		void (*handle)(void *, const struct http_request *, struct http_response *))
{
	scrape->routes[scrape->n_routes++] = (struct http_route){
		.path = path, .methods = methods, .handle = handle, .context = scrape};
}

void scrape_init(struct scrape *scrape, struct probes *probes, struct reloader *reloader,
		 const struct options *options, const struct collect_build *build)
{
	*scrape = (struct scrape){
		.probes = probes,
		.reloader = reloader,
		.options = options,
		.build = *build,
	};
	add(scrape, options->telemetry_path, "GET", metrics);
	add(scrape, "/-/healthy", "GET", healthy);
	add(scrape, "/-/ready", "GET", ready);
	add(scrape, "/-/reload", "POST PUT", reload);
	add(scrape, "/", "GET", landing);
}
