/*
 * One request from its first line to its last byte: which route it means, running that route on a
 * worker while libmicrohttpd's thread goes on with the others, and the response.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <microhttpd.h>
#include <stddef.h>

#include "http/server.h"
#include "http/workers.h"

/* What the callbacks below get as `cls`. */
struct request_context {
	const struct http_route *routes;
	size_t n_routes;
	struct workers *workers;
};

/* For MHD_OPTION_URI_LOG_CALLBACK: the request line has come. */
void *request_begin(void *cls, const char *uri, struct MHD_Connection *connection);
/* The access handler. */
enum MHD_Result request_handle(void *cls, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_bytes, void **request);
/* For MHD_OPTION_NOTIFY_COMPLETED: answered or given up. */
void request_end(void *cls, struct MHD_Connection *connection, void **request,
		 enum MHD_RequestTerminationCode code);
/* For MHD_OPTION_UNESCAPE_CALLBACK: leaves the target as it was sent; we decode it ourselves,
 * because libmicrohttpd would let %00 end the path. */
size_t request_keep_escapes(void *cls, struct MHD_Connection *connection, char *text);

/*
 * The path that a request target names: without query, scheme and host (absolute-form, RFC 9112
 * section 3.2.2), percent-decoded in place. NULL when an escape is malformed or is %00.
 */
char *request_path(char *target);

#endif
