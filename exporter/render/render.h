/*
 * Snapshots become bytes. Every format is one renderer in one table; which one a scraper gets is
 * decided by its Accept header (RFC 9110 section 12.5.1).
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include "base/strbuf.h"
#include "model/snapshot.h"

struct renderer {
	const char *name;	  /* "text", "openmetrics", "openmetrics-0.0.1" */
	const char *content_type; /* of the answer */
	void (*render)(const struct snapshot *snapshot, struct strbuf *out);
};

/* The renderer that suits the header best; the text format when `accept` is NULL, malformed or
 * names nothing we have, and OpenMetrics only when it is named. Never NULL; static storage. */
const struct renderer *render_negotiate(const char *accept);

/* By name; NULL when there is none. */
const struct renderer *render_find(const char *name);

#endif
