/*
 * Passes over a file: the first looks up all wanted names and gathers the evidence; a second one
 * finds near names, only when something was not found; a third one visits the needed libraries,
 * only when something is imported.
 */
#include "target/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "target/choose.h"
#include "target/dynamic.h"
#include "target/evidence.h"
#include "target/functions.h"
#include "target/image.h"
#include "target/lookup.h"
#include "target/nearest.h"
#include "target/needed.h"
#include "target/nop5.h"
#include "target/spelled.h"
#include "target/symbols.h"

struct inspection {
	struct plan_file *file;
	struct arena *arena;
	struct inspect_facts *facts;
	struct inspect_wanted *wanted;
	size_t n;
	struct image image;
	struct dynamic dynamic;
	struct symbols symbols;
	struct lookup lookup;
	struct evidence evidence;
	struct functions functions;
	size_t *name; /* for each wanted: its entry in lookup.names */
};

static void refuse_file(struct inspection *inspection, const struct err *err)
{
	inspection->facts->reason = err->reason;
	inspection->facts->detail =
		arena_printf(inspection->arena, "%s: %s", inspection->file->path, err->msg);
	for (size_t i = 0; i < inspection->n; i++) {
		inspection->wanted[i].reason = err->reason;
		inspection->wanted[i].detail = inspection->facts->detail;
	}
}

static int open_all(struct inspection *inspection, struct err *err)
{
	int rc = image_open(&inspection->image, inspection->file->fd, err);

	if (rc)
		return rc;
	rc = dynamic_open(&inspection->dynamic, &inspection->image, err);
	if (!rc)
		rc = symbols_open(&inspection->symbols, &inspection->image, &inspection->dynamic,
				  err);
	return rc;
}

static void close_all(struct inspection *inspection)
{
	functions_fini(&inspection->functions);
	lookup_fini(&inspection->lookup);
	evidence_fini(&inspection->evidence);
	symbols_close(&inspection->symbols);
	dynamic_close(&inspection->dynamic);
	image_close(&inspection->image);
	free(inspection->name);
}

static void visit(void *context, const struct symbol *symbol)
{
	struct inspection *inspection = context;

	lookup_visit(&inspection->lookup, symbol);
	evidence_visit(&inspection->evidence, symbol);
	functions_visit(&inspection->functions, symbol);
}

static int first_pass(struct inspection *inspection, struct err *err)
{
	lookup_init(&inspection->lookup, &inspection->image, inspection->arena);
	evidence_init(&inspection->evidence, &inspection->image, &inspection->symbols);
	functions_init(&inspection->functions, &inspection->symbols);
	inspection->name = alloc_zero(inspection->n, sizeof(*inspection->name));
	for (size_t i = 0; i < inspection->n; i++)
		inspection->name[i] = lookup_add(&inspection->lookup, inspection->wanted[i].text);
	int rc = symbols_each(&inspection->symbols, visit, inspection, err);
	functions_sort(&inspection->functions);
	if (!rc)
		evidence_conclude(&inspection->evidence, &inspection->image, &inspection->dynamic,
				  &inspection->functions);
	return rc;
}

static void take_facts(struct inspection *inspection)
{
	struct inspect_facts *facts = inspection->facts;
	char build_id[IMAGE_BUILD_ID_ROOM];

	image_build_id(&inspection->image, build_id);
	inspection->file->build_id = arena_strdup(inspection->arena, build_id);
	image_exec_range(&inspection->image, &inspection->file->exec_offset,
			 &inspection->file->exec_size);
	facts->is_library = dynamic_is_library(&inspection->dynamic, &inspection->image);
	if (inspection->dynamic.soname)
		facts->soname = arena_strdup(inspection->arena, inspection->dynamic.soname);
	facts->is_go = inspection->evidence.go;
	facts->return_is_safe = inspection->evidence.safe;
	facts->evidence = arena_strdup(inspection->arena, strbuf_text(&inspection->evidence.why));
}

static const struct lookup_name *name_of(const struct inspection *inspection, size_t i)
{
	return &inspection->lookup.names.at[inspection->name[i]];
}

static void choose_all(struct inspection *inspection)
{
	for (size_t i = 0; i < inspection->n; i++) {
		struct inspect_wanted *wanted = &inspection->wanted[i];
		struct choice choice;
		if (wanted->settled)
			continue;
		choose_function(&inspection->lookup, name_of(inspection, i), wanted->text,
				&inspection->symbols, &choice);
		wanted->reason = choice.reason;
		wanted->detail = choice.detail;
		wanted->warning = choice.warning;
		wanted->symbol = choice.symbol;
		if (choice.reason)
			continue;
		wanted->offset = choice.candidate->offset;
		wanted->size = choice.candidate->size;
		wanted->address = choice.candidate->value;
	}
}

/* ---- names that were not found, and IFUNCs ---- */

/* Whatever may be the cause that a name is not there. */
static void put_causes(const struct inspection *inspection, bool has_near, struct strbuf *text)
{
	if (inspection->evidence.go && !inspection->symbols.has_table)
		strbuf_puts(text, "; the file is stripped: its names are in Go's own table "
				  "(not supported yet)");
	else if (image_section_named(&inspection->image, ".gnu_debugdata"))
		strbuf_puts(text,
			    "; more symbols may be in its .gnu_debugdata (not supported yet)");
	else if (!inspection->symbols.has_table)
		strbuf_puts(text, "; the file is stripped: only exported functions can be found by "
				  "name (symbols in a separate debug file are not supported yet)");
	else if (!has_near)
		strbuf_puts(text,
			    "; the compiler may have inlined it everywhere, or the linker left "
			    "it out");
}

static const char *not_found_text(const struct inspection *inspection,
				  const struct inspect_wanted *wanted,
				  const struct nearest *nearest, size_t index)
{
	struct strbuf text;
	bool has_near = nearest->names.at[index].n;

	strbuf_init(&text);
	if (wanted->pattern)
		strbuf_printf(&text, "no function in %s has a name that matches %.300s",
			      inspection->file->path, wanted->pattern);
	else
		strbuf_printf(&text, "there is no function %.300s in %s", wanted->text,
			      inspection->file->path);
	if (has_near) {
		strbuf_puts(&text, "; did you mean ");
		nearest_put(nearest, index, &text);
		strbuf_putc(&text, '?');
	}
	put_causes(inspection, has_near, &text);
	const char *copy = arena_strdup(inspection->arena, strbuf_text(&text));
	strbuf_fini(&text);
	return copy;
}

static const char *ifunc_text(const struct inspection *inspection, const char *name,
			      const struct nearest *nearest, size_t index)
{
	struct strbuf text;

	strbuf_init(&text);
	strbuf_printf(
		&text,
		"%.300s is an IFUNC: which implementation runs is decided when the program is "
		"loaded",
		name);
	if (nearest->names.at[index].n) {
		strbuf_puts(&text, "; name the implementation: ");
		nearest_put(nearest, index, &text);
	} else {
		strbuf_puts(&text, "; name the implementation, which the file does not name");
		if (!inspection->symbols.has_table)
			strbuf_puts(&text, " (it is stripped)");
	}
	const char *copy = arena_strdup(inspection->arena, strbuf_text(&text));
	strbuf_fini(&text);
	return copy;
}

static bool wants_names(const struct inspect_wanted *wanted)
{
	return (wanted->reason == REASON_SYMBOL_NOT_FOUND || wanted->reason == REASON_IFUNC) &&
	       !wanted->detail;
}

static void suggest(struct inspection *inspection)
{
	struct nearest nearest;
	struct err err;
	size_t index = 0;

	nearest_init(&nearest);
	for (size_t i = 0; i < inspection->n; i++)
		if (wants_names(&inspection->wanted[i]))
			nearest_add(&nearest, name_of(inspection, i)->base,
				    name_of(inspection, i)->length,
				    inspection->wanted[i].reason == REASON_IFUNC);
	if (nearest.names.n)
		symbols_each(&inspection->symbols, nearest_visit, &nearest, &err);
	for (size_t i = 0; i < inspection->n; i++) {
		struct inspect_wanted *wanted = &inspection->wanted[i];
		if (!wants_names(wanted))
			continue;
		wanted->detail = wanted->reason == REASON_IFUNC
					 ? ifunc_text(inspection, wanted->text, &nearest, index)
					 : not_found_text(inspection, wanted, &nearest, index);
		index++;
	}
	nearest_fini(&nearest);
}

/* ---- imports ---- */

static const char *import_text(const struct inspection *inspection, const char *name,
			       const char *library)
{
	if (library)
		return arena_printf(
			inspection->arena,
			"%.300s is imported: %s defines it; add %s as a target of its own", name,
			library, library);
	return arena_printf(inspection->arena,
			    "%.300s is imported, and none of the needed libraries that were found "
			    "defines it; add the library that does as a target of its own",
			    name);
}

/* One entry for each imported name, though several wanted functions may have it. */
static void find_imports(struct inspection *inspection)
{
	size_t n_names = inspection->lookup.names.n, n = 0;
	_cleanup_free_ struct needed_import *imports = alloc_zero(n_names, sizeof(*imports));
	_cleanup_free_ size_t *place = alloc_zero(n_names, sizeof(*place));

	for (size_t i = 0; i < inspection->n; i++) {
		if (inspection->wanted[i].reason != REASON_SYMBOL_UNDEFINED ||
		    place[inspection->name[i]])
			continue;
		imports[n].name = name_of(inspection, i)->base;
		place[inspection->name[i]] = ++n;
	}
	if (n)
		needed_find(inspection->file->path, &inspection->dynamic, imports, n,
			    inspection->arena);
	for (size_t i = 0; i < inspection->n; i++) {
		struct inspect_wanted *wanted = &inspection->wanted[i];
		if (wanted->reason == REASON_SYMBOL_UNDEFINED)
			wanted->detail =
				import_text(inspection, wanted->text,
					    imports[place[inspection->name[i]] - 1].library);
	}
}

/* ---- the code ---- */

static void judge_all(struct inspection *inspection)
{
	const struct judge_file file = {
		.functions = &inspection->functions,
		.arena = inspection->arena,
		.is_library = inspection->facts->is_library,
		.is_go = inspection->evidence.go,
		.return_is_safe = inspection->evidence.safe,
		.altstack = inspection->evidence.altstack,
		.evidence = inspection->facts->evidence,
		.nop5_is_cheap = nop5_is_cheap(),
	};
	_cleanup_free_ struct judged **list = alloc_zero(inspection->n, sizeof(struct judged *));
	size_t n = 0;

	for (size_t i = 0; i < inspection->n; i++) {
		struct inspect_wanted *wanted = &inspection->wanted[i];
		if (wanted->reason || wanted->inside)
			continue;
		wanted->judged.address = wanted->address;
		wanted->judged.size = wanted->size;
		list[n++] = &wanted->judged;
	}
	judge(&file, list, n);
}

void inspect_file(struct plan_file *file, struct inspect_wanted *wanted, size_t n,
		  struct arena *arena, struct inspect_facts *facts)
{
	struct inspection inspection = {
		.file = file, .arena = arena, .facts = facts, .wanted = wanted, .n = n};
	struct err err = {0};

	memset(facts, 0, sizeof(*facts));
	file->build_id = "";
	int rc = open_all(&inspection, &err);
	if (!rc)
		rc = first_pass(&inspection, &err);
	if (rc) {
		refuse_file(&inspection, &err);
	} else {
		take_facts(&inspection);
		choose_all(&inspection);
		spelled_find(&inspection.symbols, wanted, n, arena);
		suggest(&inspection);
		find_imports(&inspection);
		judge_all(&inspection);
	}
	close_all(&inspection);
}
