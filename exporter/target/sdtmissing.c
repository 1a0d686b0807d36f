/* What is surely meant is told alone; else where the name is, and what is near it. */
#include "target/sdtmissing.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "target/dynamic.h"
#include "target/image.h"
#include "target/lookup.h"
#include "target/nearest.h"
#include "target/needed.h"
#include "target/symbols.h"

#define MOST_NAMES 5 /* of a provider, that are listed */

struct missing {
	const struct sdt *sdt;
	const char *probe;
	const char *name; /* its part after the provider */
	struct arena *arena;
	struct strbuf *out;
};

/* ---- other names in the file ---- */

static bool same_name(const struct sdt_site *a, const struct sdt_site *b)
{
	return strcmp(a->provider, b->provider) == 0 && strcmp(a->name, b->name) == 0;
}

static bool has_provider(const struct missing *missing, const struct sdt_site *site)
{
	size_t length = (size_t)(missing->name - missing->probe);

	return length && strlen(site->provider) == length - 1 &&
	       memcmp(site->provider, missing->probe, length - 1) == 0;
}

/* What people write who know the probe from elsewhere: query-start is query__start in a note. */
static const char *with_underscores(const struct missing *missing)
{
	struct strbuf text;
	const char *copy;

	strbuf_init(&text);
	for (const char *at = missing->probe; *at; at++)
		strbuf_puts(&text, *at == '-' ? "__" : (char[]){*at, '\0'});
	copy = arena_strdup(missing->arena, strbuf_text(&text));
	strbuf_fini(&text);
	return copy;
}

static bool tell_underscores(const struct missing *missing)
{
	const char *written = with_underscores(missing);
	size_t n;

	if (!sdt_find(missing->sdt, written, &n))
		return false;
	strbuf_printf(missing->out, "; it has %.200s", written);
	return true;
}

static bool tell_nearest(const struct missing *missing)
{
	struct nearest nearest;
	bool found;

	nearest_init(&nearest);
	nearest_add(&nearest, missing->probe, strlen(missing->probe), false);
	for (size_t i = 0; i < missing->sdt->n; i++) {
		const struct sdt_site *site = &missing->sdt->sites[i];
		struct symbol symbol = {.kind = SYMBOL_FUNCTION};
		char text[2 * NEAREST_LONGEST + 2];
		size_t length = strlen(site->provider) + strlen(site->name) + 1;
		if ((i && same_name(site, site - 1)) || length > NEAREST_LONGEST)
			continue;
		snprintf(text, sizeof(text), "%.*s:%.*s", NEAREST_LONGEST, site->provider,
			 NEAREST_LONGEST, site->name);
		symbol.name = text;
		symbol.length = length;
		nearest_visit(&nearest, &symbol);
	}
	found = nearest.names.at[0].n > 0;
	if (found) {
		strbuf_puts(missing->out, "; did you mean ");
		nearest_put(&nearest, 0, missing->out);
		strbuf_putc(missing->out, '?');
	}
	nearest_fini(&nearest);
	return found;
}

static bool tell_other_provider(const struct missing *missing)
{
	size_t n = 0;

	for (size_t i = 0; i < missing->sdt->n && n < MOST_NAMES; i++) {
		const struct sdt_site *site = &missing->sdt->sites[i];
		if (strcmp(site->name, missing->name) != 0 || (i && same_name(site, site - 1)))
			continue;
		strbuf_printf(missing->out, "%s%.100s:%.100s", n++ ? ", " : "; it has ",
			      site->provider, site->name);
	}
	return n > 0;
}

static bool tell_provider(const struct missing *missing)
{
	size_t n = 0;

	for (size_t i = 0; i < missing->sdt->n; i++) {
		const struct sdt_site *site = &missing->sdt->sites[i];
		if (!has_provider(missing, site) || (i && same_name(site, site - 1)))
			continue;
		if (n < MOST_NAMES)
			strbuf_printf(missing->out, "%s%.100s", n ? ", " : "; that provider has ",
				      site->name);
		n++;
	}
	if (n > MOST_NAMES)
		strbuf_printf(missing->out, " and %zu more", n - MOST_NAMES);
	return n > 0;
}

/* ---- elsewhere ---- */

struct library_visit {
	const struct missing *missing;
	bool found;
};

static bool visit_library(void *context, const char *path, const struct image *image,
			  struct dynamic *dynamic)
{
	struct library_visit *visit = context;
	struct arena arena;
	struct sdt sdt;
	struct err err;
	size_t n;

	(void)dynamic;
	arena_init(&arena);
	visit->found = sdt_read(&sdt, image->fd, &arena, &err) == 0 &&
		       sdt_find(&sdt, visit->missing->probe, &n);
	arena_fini(&arena);
	if (visit->found)
		strbuf_printf(visit->missing->out,
			      "; %.500s has it, which this file needs: name that as the binary",
			      path);
	return !visit->found;
}

static bool tell_library(const struct missing *missing, const char *path,
			 const struct dynamic *dynamic)
{
	struct library_visit visit = {.missing = missing};

	needed_each(path, dynamic, visit_library, &visit, missing->arena);
	return visit.found;
}

static bool tell_function(const struct missing *missing, const struct image *image,
			  struct dynamic *dynamic)
{
	struct symbols symbols;
	struct lookup lookup;
	struct err err;
	bool found = false;

	if (!*missing->name || symbols_open(&symbols, image, dynamic, &err))
		return false;
	lookup_init(&lookup, image, missing->arena);
	lookup_add(&lookup, missing->name);
	if (symbols_each(&symbols, lookup_visit, &lookup, &err) == 0)
		for (size_t i = 0; i < lookup.names.at[0].n; i++)
			found |= lookup.names.at[0].candidate[i].is_code;
	if (found)
		strbuf_printf(missing->out,
			      "; it has a function %.200s, which goes under `functions:`",
			      missing->name);
	lookup_fini(&lookup);
	symbols_close(&symbols);
	return found;
}

static bool tell_elsewhere(const struct missing *missing, int fd, const char *path)
{
	struct image image;
	struct dynamic dynamic;
	struct err err;
	bool told = false;

	if (image_open(&image, fd, &err))
		return false;
	if (dynamic_open(&dynamic, &image, &err) == 0) {
		told = tell_function(missing, &image, &dynamic) ||
		       tell_library(missing, path, &dynamic);
		dynamic_close(&dynamic);
	}
	image_close(&image);
	return told;
}

const char *sdtmissing_text(const struct sdt *sdt, int fd, const char *path, const char *probe,
			    struct arena *arena)
{
	struct strbuf out;
	struct missing missing = {.sdt = sdt, .probe = probe, .arena = arena, .out = &out};
	const char *colon = strchr(probe, ':'), *text;

	missing.name = colon ? colon + 1 : probe;
	strbuf_init(&out);
	if (!sdt->has_notes)
		strbuf_puts(&out, "has no USDT sites (no stapsdt notes)");
	else
		strbuf_printf(&out, "has no USDT site %.200s", probe);
	if (sdt->damage)
		strbuf_printf(&out, " (%s)", sdt->damage);
	if (!tell_underscores(&missing) && !tell_other_provider(&missing)) {
		bool elsewhere = tell_elsewhere(&missing, fd, path);
		if (!tell_nearest(&missing) && !elsewhere)
			tell_provider(&missing);
	}
	text = arena_strdup(arena, strbuf_text(&out));
	strbuf_fini(&out);
	return text;
}
