/* Rows of two targets, and their scrape as text: for the tests of collect/. */
#ifndef UNIT_COLLECT_FIXTURE_H
#define UNIT_COLLECT_FIXTURE_H

#include "collect/collect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "bpf/cells.h"
#include "model/layout.h"
#include "render/render.h"
#include "tests/unit/render/grammar.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a config of two targets ---- */

static const uint64_t bounds[] = {1000, 1000000, 1000000000};
static const uint64_t few_bounds[] = {5000};
static const struct spec_label storage[] = {{"team", "storage"}};
static const struct spec_label web[] = {{"owner", "x"}, {"team", "web"}};

static const struct spec_function functions[] = {
	{.symbol = "run", .label = "run", .buckets = {bounds, COUNT(bounds)}},
	{.symbol = "parse",
	 .label = "parse",
	 .exit = EXIT_NONE,
	 .buckets = {bounds, COUNT(bounds)}},
	{.symbol = "scan",
	 .label = "scan",
	 .buckets = {few_bounds, COUNT(few_bounds)},
	 .labels = storage,
	 .n_labels = COUNT(storage)},
	{.symbol = "scan_2",
	 .label = "scan",
	 .buckets = {bounds, COUNT(bounds)},
	 .labels = web,
	 .n_labels = COUNT(web)},
};
static const struct spec_target target = {
	.name = "db", .binary = "/opt/db", .functions = functions, .n_functions = COUNT(functions)};
static const struct plan_file file = {.path = "/opt/db\xff", .fd = -1, .build_id = "c0ffee"};

struct fixture {
	struct plan_probe probes[16];
	struct collect_row rows[16];
	struct collect_input input;
};

static inline void attach(struct collect_row *row, struct plan_probe *probe)
{
	probe->file = &file;
	probe->entry_offset = 0x3e1f0;
	probe->strategy = probe->function->exit == EXIT_NONE ? STRATEGY_NONE : STRATEGY_URETPROBE;
	row->attached = true;
	row->status =
		(struct probe_status){.attached = true, .kind = "session", .created_unix = 1.7e9};
}

/* All functions of the target, none attached. */
static inline struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	for (size_t i = 0; i < COUNT(functions); i++) {
		f->probes[i] = (struct plan_probe){.target = &target,
						   .function = &functions[i],
						   .label = functions[i].label,
						   .reason = REASON_SYMBOL_NOT_FOUND};
		f->rows[i].probe = &f->probes[i];
		f->rows[i].status.reason = REASON_SYMBOL_NOT_FOUND;
	}
	f->input = (struct collect_input){
		.rows = f->rows,
		.n_rows = COUNT(functions),
		.build = {.version = "0.1.0", .revision = "abcdef", .tier = "session"},
		.last_reload_successful = true,
		.last_reload_success_unix = 1760000000.5,
		.map_memory_bytes = 3145728,
		.unheard = {[UP_UNHEARD_STARTED] = 7}};
	return f;
}

/* The scrape as text; checks both formats' grammar on the way. */
static inline char *scrape(const struct collect_input *input)
{
	struct snapshot *snapshot = collect_snapshot(input);
	struct strbuf text, openmetrics;

	strbuf_init(&text);
	strbuf_init(&openmetrics);
	render_find("text")->render(snapshot, &text);
	render_find("openmetrics")->render(snapshot, &openmetrics);
	assert_int_equal(grammar_check(GRAMMAR_TEXT, strbuf_text(&text)),
			 grammar_check(GRAMMAR_OPENMETRICS, strbuf_text(&openmetrics)));
	strbuf_fini(&openmetrics);
	snapshot_free(snapshot);
	return strbuf_take(&text);
}

static inline void assert_has(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	size_t n = strlen(line);

	while (at && ((at > text && at[-1] != '\n') || at[n] != '\n'))
		at = strstr(at + 1, line);
	if (!at)
		fail_msg("no line %s in\n%s", line, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in\n%s", part, text);
}

static inline void observe(struct reading *reading, struct buckets buckets, uint64_t ns,
			   uint64_t calls)
{
	struct up_bounds layout;

	layout_build(buckets, &layout);
	reading->cells[up_cell(&layout, ns)] += calls;
	reading->entries += calls;
	reading->sum_ns += ns * calls;
}

#endif
