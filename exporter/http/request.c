/* Requests: dispatch, the route's run, the response. */
#include "http/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "http/connections.h"
#include "http/gzip.h"

/* No route reads a body; what a client sends with its request is read and dropped up to this. */
#define REQUEST_BODY_MAX (64 * 1024)

/* Below this a packet holds the response anyway. */
#define GZIP_MIN_BYTES 1024

#define PLAIN_TEXT     "text/plain; charset=utf-8"

enum stage {
	STAGE_HEADERS, /* the headers have come */
	STAGE_BODY,    /* the body, if any, comes in pieces */
	STAGE_RUNNING, /* with a worker; the connection is suspended */
	STAGE_DROPPED, /* the server stops */
};

struct request {
	struct job job; /* first: a worker gets this */
	struct http_request view;
	struct http_response response;
	const struct http_route *route;
	struct MHD_Connection *mhd;
	struct MHD_Response *reply; /* made by the worker, queued by libmicrohttpd's thread */
	struct connection *connection;
	struct arena arena; /* path and joined header values */
	enum stage stage;
	size_t body_bytes;  /* of the request's body, so far */
	size_t reply_bytes; /* of the response's */
};

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void *request_begin(void *cls, const char *uri, struct MHD_Connection *mhd)
{
	struct request *request = alloc_zero(1, sizeof(*request));

	(void)cls;
	(void)uri;
	request->mhd = mhd;
	request->connection = connection_of(mhd);
	arena_init(&request->arena);
	strbuf_init(&request->response.body);
	connection_enter(request->connection, CONNECTION_READING, 0);
	return request;
}

void request_end(void *cls, struct MHD_Connection *mhd, void **context,
		 enum MHD_RequestTerminationCode code)
{
	struct request *request = *context;

	(void)cls;
	(void)mhd;
	(void)code;
	*context = NULL;
	if (!request)
		return;
	connection_enter(request->connection, CONNECTION_IDLE, 0);
	if (request->reply)
		MHD_destroy_response(request->reply);
	strbuf_fini(&request->response.body);
	arena_fini(&request->arena);
	free(request);
}

size_t request_keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void)cls;
	(void)mhd;
	return strlen(text);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

static char *strip_authority(char *target)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t length = strlen(schemes[i]);
		if (strncasecmp(target, schemes[i], length))
			continue;
		target += length;
		return target + strcspn(target, "/?");
	}
	return target;
}

char *request_path(char *target)
{
	char *path = strip_authority(target);
	char *out = path;

	if (!*path || *path == '?') {
		strcpy(target, "/"); /* there was a scheme, or MHD found nothing: room for it */
		return target;
	}
	for (const char *in = path; *in && *in != '?'; in++) {
		int high, low;
		if (*in != '%') {
			*out++ = *in;
			continue;
		}
		if ((high = hex_digit(in[1])) < 0 || (low = hex_digit(in[2])) < 0 || !(high | low))
			return NULL;
		*out++ = (char)(high << 4 | low);
		in += 2;
	}
	*out = '\0';
	return path;
}

struct header_search {
	const char *name;
	struct strbuf joined;
	int n;
};

static enum MHD_Result add_value(void *cls, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	struct header_search *search = cls;

	(void)kind;
	if (strcasecmp(name, search->name))
		return MHD_YES;
	if (search->n++)
		strbuf_puts(&search->joined, ", ");
	strbuf_puts(&search->joined, value ? value : "");
	return MHD_YES;
}

static const char *header_value(const struct http_request *view, const char *name)
{
	struct request *request = view->impl;
	struct header_search search = {.name = name};
	const char *value = NULL;

	strbuf_init(&search.joined);
	MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, add_value, &search);
	if (search.n)
		value = arena_strdup(&request->arena, strbuf_text(&search.joined));
	strbuf_fini(&search.joined);
	return value;
}

/* Makes the reply of the response, whose body it takes. */
static void make_reply(struct request *request)
{
	struct http_response *response = &request->response;

	request->reply_bytes = response->body.length;
	request->reply = MHD_create_response_from_buffer(
		request->reply_bytes, strbuf_take(&response->body), MHD_RESPMEM_MUST_FREE);
	if (!request->reply)
		alloc_failed();
	MHD_add_response_header(request->reply, MHD_HTTP_HEADER_CONTENT_TYPE,
				response->content_type);
	/* A stored answer would be an old measurement passed off as a new one. */
	MHD_add_response_header(request->reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

/* On a worker: the body as the client takes it. */
static void make_route_reply(struct request *request)
{
	struct http_response *response = &request->response;
	bool worthwhile = response->body.length > GZIP_MIN_BYTES;
	bool packed = worthwhile &&
		      gzip_wanted(header_value(&request->view, MHD_HTTP_HEADER_ACCEPT_ENCODING)) &&
		      !gzip_compress(&response->body);

	make_reply(request);
	if (worthwhile)
		MHD_add_response_header(request->reply, MHD_HTTP_HEADER_VARY,
					MHD_HTTP_HEADER_ACCEPT_ENCODING);
	if (packed)
		MHD_add_response_header(request->reply, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

static void run(struct job *job, bool dropped)
{
	struct request *request = (struct request *)job;
	struct MHD_Connection *mhd = request->mhd;

	if (dropped) {
		request->stage = STAGE_DROPPED;
	} else {
		request->route->handle(request->route->context, &request->view, &request->response);
		make_route_reply(request);
	}
	MHD_resume_connection(mhd); /* from here on the request is libmicrohttpd's thread's */
}

static enum MHD_Result send_reply(struct request *request)
{
	enum MHD_Result queued;

	connection_enter(request->connection, CONNECTION_SENDING, request->reply_bytes);
	queued = MHD_queue_response(request->mhd, (unsigned)request->response.status,
				    request->reply);
	MHD_destroy_response(request->reply); /* the connection holds a reference of its own */
	request->reply = NULL;
	return queued;
}

static enum MHD_Result send_text(struct request *request, int status, const char *text,
				 const char *allow)
{
	request->response.status = status;
	request->response.content_type = PLAIN_TEXT;
	strbuf_puts(&request->response.body, text);
	make_reply(request);
	if (allow)
		MHD_add_response_header(request->reply, MHD_HTTP_HEADER_ALLOW, allow);
	return send_reply(request);
}

static const struct http_route *find_route(const struct request_context *context, const char *path)
{
	for (size_t i = 0; i < context->n_routes; i++)
		if (!strcmp(context->routes[i].path, path))
			return &context->routes[i];
	return NULL;
}

static bool lists_method(const char *methods, const char *method)
{
	size_t length = strlen(method);

	for (; *methods; methods += strspn(methods, " ")) {
		size_t word = strcspn(methods, " ");
		if (word == length && !strncmp(methods, method, length))
			return true;
		methods += word;
	}
	return false;
}

/* "GET PUT" as the Allow header has it: "GET, HEAD, PUT". */
static const char *allow_header(struct request *request)
{
	struct strbuf allow;
	const char *text;

	strbuf_init(&allow);
	for (const char *m = request->route->methods; *m; m += strspn(m, " ")) {
		size_t word = strcspn(m, " ");
		if (allow.length)
			strbuf_puts(&allow, ", ");
		strbuf_add(&allow, m, word);
		if (word == 3 && !strncmp(m, "GET", 3))
			strbuf_puts(&allow, ", HEAD");
		m += word;
	}
	text = arena_strdup(&request->arena, strbuf_text(&allow));
	strbuf_fini(&allow);
	return text;
}

static enum MHD_Result hand_to_worker(struct request *request, struct workers *workers)
{
	request->stage = STAGE_RUNNING;
	request->job.run = run;
	request->view.header = header_value;
	request->view.impl = request;
	request->response.status = MHD_HTTP_OK;
	request->response.content_type = PLAIN_TEXT;
	connection_enter(request->connection, CONNECTION_HANDLING, 0);
	MHD_suspend_connection(request->mhd);
	workers_submit(workers, &request->job);
	return MHD_YES;
}

static enum MHD_Result dispatch(struct request *request, const struct request_context *context,
				const char *url, const char *method)
{
	/* Two bytes more than the target: request_path may have to write "/". */
	char *target = arena_alloc(&request->arena, strlen(url) + 2);

	strcpy(target, url);
	request->view.path = request_path(target);
	request->view.method =
		strcmp(method, "HEAD") ? arena_strdup(&request->arena, method) : "GET";
	if (!request->view.path)
		return send_text(request, MHD_HTTP_BAD_REQUEST, "bad request target\n", NULL);
	request->route = find_route(context, request->view.path);
	if (!request->route)
		return send_text(request, MHD_HTTP_NOT_FOUND, "not found\n", NULL);
	if (!lists_method(request->route->methods, request->view.method))
		return send_text(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed\n",
				 allow_header(request));
	return hand_to_worker(request, context->workers);
}

/* A body announced to be too long is refused before the client is told to go on (100-continue). */
static enum MHD_Result take_headers(struct request *request)
{
	const char *length = MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	request->stage = STAGE_BODY;
	if (!length || strtoull(length, NULL, 10) <= REQUEST_BODY_MAX)
		return MHD_YES;
	return send_text(request, MHD_HTTP_CONTENT_TOO_LARGE, "request body too large\n", NULL);
}

static enum MHD_Result drop_body(struct request *request, size_t *bytes)
{
	request->body_bytes += *bytes;
	*bytes = 0;
	return request->body_bytes <= REQUEST_BODY_MAX ? MHD_YES : MHD_NO; /* MHD_NO: close */
}

enum MHD_Result request_handle(void *cls, struct MHD_Connection *mhd, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_bytes, void **context)
{
	struct request *request = *context;

	(void)mhd;
	(void)version;
	(void)upload;
	switch (request->stage) {
	case STAGE_HEADERS:
		return take_headers(request);
	case STAGE_BODY:
		return *upload_bytes ? drop_body(request, upload_bytes)
				     : dispatch(request, cls, url, method);
	case STAGE_RUNNING:
		return send_reply(request);
	case STAGE_DROPPED:
		break;
	}
	return MHD_NO;
}
