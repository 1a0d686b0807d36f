/* `check`: the plan, for people and for programs. */
#include "cmd_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/plan.h"
#include "printable.h"
#include "target/resolve.h"

/* What the files cannot tell. */
static const char *const assumed[] = {
	"the kernel takes a probe at this instruction",
	"the file is not changed in place while it is probed",
};

enum { N_ASSUMED = sizeof(assumed) / sizeof(*assumed), COLUMNS = 7, WIDEST = 40 };

/* ---- as JSON ---- */

static void put_member(struct strbuf *out, const char *name, const char *value)
{
	strbuf_printf(out, ",\"%s\":", name);
	if (value)
		json_put_string(out, value);
	else
		strbuf_puts(out, "null");
}

static void put_number(struct strbuf *out, const char *name, bool known, uint64_t value)
{
	strbuf_printf(out, ",\"%s\":", name);
	if (known)
		strbuf_printf(out, "%" PRIu64, value);
	else
		strbuf_puts(out, "null");
}

static void put_shared(struct strbuf *out, const struct plan_probe *shared)
{
	if (!shared) {
		put_member(out, "shared_with", NULL);
		return;
	}
	strbuf_puts(out, ",\"shared_with\":{\"target\":");
	json_put_string(out, shared->target->name);
	put_member(out, "function", shared->label);
	strbuf_putc(out, '}');
}

/* The instruction that the entry probe stands on. */
static void put_entry(struct strbuf *out, const struct plan_entry *entry)
{
	if (!entry->at_site) {
		put_member(out, "entry", NULL);
		return;
	}
	strbuf_puts(out, ",\"entry\":{\"at_symbol\":");
	json_put_string(out, entry->at_symbol);
	put_member(out, "at_site", entry->at_site);
	put_member(out, "class", entry->class);
	put_member(out, "why", entry->why);
	strbuf_putc(out, '}');
}

static void put_sites(struct strbuf *out, const struct plan_probe *probe)
{
	strbuf_puts(out, ",\"exit_offsets\":[");
	for (size_t i = 0; i < probe->n_sites; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? "," : "", probe->sites[i].offset);
	strbuf_putc(out, ']');
}

static void put_marks(struct strbuf *out, const struct plan_probe *probe)
{
	strbuf_puts(out, ",\"marks\":[");
	for (size_t i = 0; i < probe->n_marks; i++) {
		const struct plan_mark *mark = &probe->marks[i];
		strbuf_printf(out, "%s{\"offset\":%" PRIu64, i ? "," : "", mark->offset);
		put_number(out, "semaphore_offset", mark->semaphore, mark->semaphore);
		strbuf_printf(out, ",\"ends\":%s}", mark->ends ? "true" : "false");
	}
	strbuf_putc(out, ']');
}

static void put_probe_json(struct strbuf *out, const struct plan_probe *probe)
{
	const struct plan_file *file = probe->file;
	bool ok = !probe->reason, found = probe->symbol;

	strbuf_puts(out, "{\"target\":");
	json_put_string(out, probe->target->name);
	put_member(out, spec_is_usdt(probe->function) ? "probe" : "function", probe->label);
	strbuf_printf(out, ",\"ok\":%s", ok ? "true" : "false");
	put_member(out, "reason", ok ? NULL : reason_name(probe->reason));
	put_member(out, "detail", probe->detail);
	put_member(out, "warning", probe->warning);
	put_member(out, "binary", file ? file->path : probe->target->binary);
	put_member(out, "build_id", file && *file->build_id ? file->build_id : NULL);
	put_member(out, "symbol", probe->symbol);
	put_number(out, "symbol_offset", found, probe->symbol_offset);
	put_number(out, "entry_offset", found, probe->entry_offset);
	put_number(out, "size", found, probe->size);
	put_entry(out, &probe->entry);
	put_member(out, "exit", exit_mode_name(probe->function->exit));
	put_member(out, "exit_strategy", ok ? exit_strategy_name(probe->strategy) : NULL);
	put_sites(out, probe);
	put_marks(out, probe);
	put_number(out, "pid", probe->target->pid, (uint64_t)probe->target->pid);
	put_shared(out, probe->shared_with);
	put_number(out, "mapping_processes", file, file ? file->mapping_processes : 0);
	put_number(out, "mapping_programs", file, file ? file->mapping_programs : 0);
	strbuf_puts(out, ",\"assumed\":[");
	for (size_t i = 0; ok && i < N_ASSUMED; i++) {
		strbuf_puts(out, i ? "," : "");
		json_put_string(out, assumed[i]);
	}
	strbuf_puts(out, "]}");
}

static void put_json(struct strbuf *out, const struct plan *plan)
{
	strbuf_putc(out, '[');
	for (size_t i = 0; i < plan->n_probes; i++) {
		strbuf_puts(out, i ? ",\n" : "\n");
		put_probe_json(out, &plan->probes[i]);
	}
	strbuf_puts(out, "\n]\n");
}

/* ---- as text ---- */

struct row {
	char *cell[COLUMNS]; /* owned */
};

static char *printable(const char *text)
{
	struct strbuf out;

	strbuf_init(&out);
	printable_put(&out, text);
	return strbuf_take(&out);
}

static char *hexadecimal(bool known, uint64_t value)
{
	struct strbuf out;

	strbuf_init(&out);
	if (known)
		strbuf_printf(&out, "0x%" PRIx64, value);
	else
		strbuf_putc(&out, '-');
	return strbuf_take(&out);
}

/* "push %rbp (emulated) +4 after endbr64": where the entry probe stands. */
static char *entry_text(const struct plan_probe *probe)
{
	const struct plan_entry *entry = &probe->entry;
	uint64_t moved = probe->entry_offset - probe->symbol_offset;
	struct strbuf text, out;

	if (!entry->at_site)
		return alloc_strdup("-");
	strbuf_init(&text);
	strbuf_printf(&text, "%s (%s)", entry->at_site, entry->class);
	if (moved)
		strbuf_printf(&text, " +%" PRIu64 " after %s", moved, entry->at_symbol);
	strbuf_init(&out);
	printable_put(&out, strbuf_text(&text));
	strbuf_fini(&text);
	return strbuf_take(&out);
}

static void row_fill(struct row *row, const struct plan_probe *probe)
{
	bool ok = !probe->reason;

	row->cell[0] = alloc_strdup(ok ? "ok" : "refused");
	row->cell[1] = printable(probe->target->name);
	row->cell[2] = printable(probe->label);
	row->cell[3] = hexadecimal(probe->symbol, probe->symbol_offset);
	row->cell[4] = hexadecimal(ok, probe->entry_offset);
	row->cell[5] = entry_text(probe);
	row->cell[6] =
		alloc_strdup(ok ? exit_strategy_name(probe->strategy) : reason_name(probe->reason));
}

/* Terminal columns, near enough: continuation bytes of UTF-8 take none. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void put_row(struct strbuf *out, const struct row *row, const size_t *width, const char *why)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		strbuf_puts(out, row->cell[i]);
		for (size_t n = width_of(row->cell[i]); n < width[i] + 2; n++)
			strbuf_putc(out, ' ');
		if (width_of(row->cell[i]) > width[i] + 1)
			strbuf_puts(out, "  ");
	}
	printable_put(out, why);
	strbuf_putc(out, '\n');
}

static void put_rows(struct strbuf *out, const struct plan *plan)
{
	static char *const heads[COLUMNS] = {"STATE", "TARGET",	     "PROBE", "OFFSET",
					     "SITE",  "INSTRUCTION", "EXIT"};
	_cleanup_free_ struct row *rows = alloc_zero(plan->n_probes + 1, sizeof(*rows));
	size_t width[COLUMNS] = {0};

	memcpy(rows[0].cell, heads, sizeof(heads));
	for (size_t i = 0; i < plan->n_probes; i++)
		row_fill(&rows[i + 1], &plan->probes[i]);
	for (size_t i = 0; i <= plan->n_probes; i++)
		for (size_t j = 0; j < COLUMNS; j++) {
			size_t n = width_of(rows[i].cell[j]);
			n = n < WIDEST ? n : WIDEST;
			width[j] = n > width[j] ? n : width[j];
		}
	put_row(out, &rows[0], width, "WHY");
	for (size_t i = 0; i < plan->n_probes; i++) {
		put_row(out, &rows[i + 1], width, plan->probes[i].detail);
		for (size_t j = 0; j < COLUMNS; j++)
			free(rows[i + 1].cell[j]);
	}
}

static void put_warnings(struct strbuf *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (!probe->warning || probe->reason)
			continue;
		strbuf_puts(out, "warning  ");
		printable_put(out, probe->target->name);
		strbuf_putc(out, ' ');
		printable_put(out, probe->label);
		strbuf_puts(out, ": ");
		printable_put(out, probe->warning);
		strbuf_putc(out, '\n');
	}
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* How many of the file's probes touch every process that maps it, and how many do not. */
static void put_touched(struct strbuf *out, const struct plan *plan, const struct plan_file *file)
{
	size_t probes = 0, in_each = 0, in_one = 0;

	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];
		if (probe->file != file || probe->reason)
			continue;
		probes++;
		in_each += probe->per_process;
		in_one += probe->target->pid != 0;
	}
	size_t in_all = probes - in_each - in_one;
	if (probes)
		strbuf_printf(out,
			      "; %zu probe%s placed in every process that maps it, %zu in one "
			      "process only",
			      in_all, plural(in_all), in_one);
	if (in_each)
		strbuf_printf(out,
			      ", %zu in each process that is selected (links per process, for 16 "
			      "at most)",
			      in_each);
}

static void put_files(struct strbuf *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_files; i++) {
		const struct plan_file *file = &plan->files[i];
		strbuf_puts(out, "file     ");
		printable_put(out, file->path);
		strbuf_printf(out, ": mapped now by %u process%s of %u program%s",
			      file->mapping_processes, file->mapping_processes == 1 ? "" : "es",
			      file->mapping_programs, plural(file->mapping_programs));
		put_touched(out, plan, file);
		strbuf_putc(out, '\n');
	}
}

static size_t put_text(struct strbuf *out, const struct plan *plan)
{
	size_t refused = 0;

	for (size_t i = 0; i < plan->n_probes; i++)
		refused += plan->probes[i].reason != REASON_NONE;
	put_rows(out, plan);
	put_warnings(out, plan);
	put_files(out, plan);
	for (size_t i = 0; i < N_ASSUMED && refused < plan->n_probes; i++)
		strbuf_printf(out, "assumed  %s\n", assumed[i]);
	strbuf_printf(out, "%zu probe%s: %zu can be attached, %zu cannot\n", plan->n_probes,
		      plural(plan->n_probes), plan->n_probes - refused, refused);
	return refused;
}

int cmd_check(const struct spec *spec, bool json, FILE *out)
{
	struct plan *plan = resolve_plan(spec, NULL);
	bool refused = false;
	struct strbuf text;

	strbuf_init(&text);
	if (json)
		put_json(&text, plan);
	else
		put_text(&text, plan);
	for (size_t i = 0; i < plan->n_probes; i++)
		refused |= plan->probes[i].reason != REASON_NONE;
	fputs(strbuf_text(&text), out);
	strbuf_fini(&text);
	plan_free(plan);
	return refused;
}
