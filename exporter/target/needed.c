/*
 * The loader's search, as ld.so(8) describes it: DT_RPATH where there is no DT_RUNPATH, then
 * DT_RUNPATH, the cache, the standard folders. What only a running process knows
 * (LD_LIBRARY_PATH, LD_PRELOAD, dlopen) is left out.
 */
#include "target/needed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/file.h"
#include "target/image.h"
#include "target/ldcache.h"
#include "target/lookup.h"
#include "target/symbols.h"

enum { PATH_ROOM = 4096, CACHED = 4 };

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#else
#define MULTIARCH "aarch64-linux-gnu"
#endif

static const char *const standard[] = {
	"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib",
	"/usr/lib",	   "/usr/local/lib",
};

struct search {
	struct arena *arena;
	struct ldcache cache;
	VEC(char *) queue;    /* sonames or paths seen, in order; owned */
	VEC(char *) from;     /* the file that needs each one; owned */
	VEC(char *) run_path; /* the run path in force there; owned, may be NULL */
};

static void enqueue(struct search *search, const struct dynamic *dynamic, const char *path)
{
	const char *run_path = dynamic->runpath ? dynamic->runpath : dynamic->rpath;

	for (size_t i = 0; i < dynamic->n_needed; i++) {
		bool seen = search->queue.n >= NEEDED_MOST;
		for (size_t j = 0; j < search->queue.n && !seen; j++)
			seen = strcmp(search->queue.at[j], dynamic->needed[i]) == 0;
		if (seen)
			continue;
		*vec_push(&search->queue) = alloc_strdup(dynamic->needed[i]);
		*vec_push(&search->from) = alloc_strdup(path);
		*vec_push(&search->run_path) = run_path ? alloc_strdup(run_path) : NULL;
	}
}

/* Copy one folder of a run path, with $ORIGIN and ${ORIGIN} as the folder of `from`. */
static void expand(const char *folder, size_t length, const char *from, struct strbuf *out)
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(from, '/');

	for (size_t at = 0; at < length;) {
		size_t skipped = 0;
		for (size_t i = 0; i < 2; i++) {
			size_t n = strlen(origins[i]);
			if (length - at >= n && memcmp(folder + at, origins[i], n) == 0)
				skipped = n;
		}
		if (skipped)
			strbuf_add(out, from, slash ? (size_t)(slash - from) : 0);
		else
			strbuf_putc(out, folder[at]);
		at += skipped ? skipped : 1;
	}
}

/* A library opened for reading its symbols. */
struct library {
	struct file file;
	struct image image;
	struct dynamic dynamic;
};

static bool library_open(struct library *library, const char *path, struct arena *arena)
{
	struct err err;

	if (strlen(path) >= PATH_ROOM || access(path, F_OK) != 0 ||
	    file_open(&library->file, path, arena, &err))
		return false;
	if (image_open(&library->image, library->file.fd, &err)) {
		close(library->file.fd);
		return false;
	}
	if (dynamic_open(&library->dynamic, &library->image, &err)) {
		image_close(&library->image);
		close(library->file.fd);
		return false;
	}
	return true;
}

static void library_close(struct library *library)
{
	dynamic_close(&library->dynamic);
	image_close(&library->image);
	close(library->file.fd);
}

static bool open_in(struct library *library, const char *folder, const char *soname,
		    struct arena *arena)
{
	char path[PATH_ROOM];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, soname);

	return n > 0 && n < PATH_ROOM && library_open(library, path, arena);
}

static bool open_by_run_path(struct library *library, const char *run_path, const char *from,
			     const char *soname, struct arena *arena)
{
	bool opened = false;
	struct strbuf folder;

	strbuf_init(&folder);
	for (const char *at = run_path; at && *at && !opened;) {
		size_t length = strcspn(at, ":");
		strbuf_clear(&folder);
		expand(at, length, from, &folder);
		opened = length && open_in(library, strbuf_text(&folder), soname, arena);
		at += length + (at[length] == ':');
	}
	strbuf_fini(&folder);
	return opened;
}

static bool open_needed(struct search *search, size_t index, struct library *library)
{
	const char *soname = search->queue.at[index], *path;

	if (strchr(soname, '/'))
		return library_open(library, soname, search->arena);
	if (open_by_run_path(library, search->run_path.at[index], search->from.at[index], soname,
			     search->arena))
		return true;
	for (size_t i = 0; i < CACHED && (path = ldcache_find(&search->cache, soname, i)); i++)
		if (library_open(library, path, search->arena))
			return true;
	for (size_t i = 0; i < sizeof(standard) / sizeof(*standard); i++)
		if (open_in(library, standard[i], soname, search->arena))
			return true;
	return false;
}

static void search_fini(struct search *search)
{
	for (size_t i = 0; i < search->queue.n; i++) {
		free(search->queue.at[i]);
		free(search->from.at[i]);
		free(search->run_path.at[i]);
	}
	vec_fini(&search->queue);
	vec_fini(&search->from);
	vec_fini(&search->run_path);
	ldcache_close(&search->cache);
}

void needed_each(const char *path, const struct dynamic *dynamic, needed_visit *visit,
		 void *context, struct arena *arena)
{
	struct search search = {.arena = arena};
	bool more = true;

	ldcache_open(&search.cache, "/etc/ld.so.cache");
	enqueue(&search, dynamic, path);
	for (size_t i = 0; i < search.queue.n && more; i++) {
		struct library library;
		if (!open_needed(&search, i, &library))
			continue;
		more = visit(context, library.file.path, &library.image, &library.dynamic);
		enqueue(&search, &library.dynamic, library.file.path);
		library_close(&library);
	}
	search_fini(&search);
}

/* ---- finding definitions ---- */

struct definitions {
	struct arena *arena;
	struct lookup
		wanted; /* entry i of its names is import i: the caller gives each name once */
	struct needed_import *imports;
	size_t n_open; /* how many are still to be found */
	const char *path;
};

static void visit_definition(void *context, const struct symbol *symbol)
{
	struct definitions *definitions = context;

	if (symbol->kind == SYMBOL_UNDEFINED || symbol->bind == STB_LOCAL)
		return;
	const struct lookup_name *name =
		lookup_find(&definitions->wanted, symbol->name, symbol->length);
	if (!name)
		return;
	struct needed_import *import = &definitions->imports[name - definitions->wanted.names.at];
	if (import->library)
		return;
	import->library = arena_strdup(definitions->arena, definitions->path);
	definitions->n_open--;
}

static bool look_in(void *context, const char *path, const struct image *image,
		    struct dynamic *dynamic)
{
	struct definitions *definitions = context;
	struct symbols symbols;
	struct err err;

	definitions->path = path;
	if (symbols_open(&symbols, image, dynamic, &err))
		return true;
	symbols_each_dynamic(&symbols, visit_definition, definitions, &err);
	symbols_close(&symbols);
	return definitions->n_open > 0;
}

void needed_find(const char *path, const struct dynamic *dynamic, struct needed_import *imports,
		 size_t n, struct arena *arena)
{
	struct definitions definitions = {.arena = arena, .imports = imports, .n_open = n};

	lookup_init(&definitions.wanted, NULL, arena);
	for (size_t i = 0; i < n; i++)
		lookup_add(&definitions.wanted, imports[i].name);
	if (n)
		needed_each(path, dynamic, look_in, &definitions, arena);
	lookup_fini(&definitions.wanted);
}
